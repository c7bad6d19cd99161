//! Records as one process sees them: a committed state with the changes of one write laid over it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use memlet_core::id::NamespaceId;

use crate::{Read, Record, Scope, StoreError, Table, Visit};

/// A committed state. No table in it is empty.
pub(super) type Records = BTreeMap<(Scope, Table), BTreeMap<Vec<u8>, Vec<u8>>>;

/// Changes to a state: the new value of each record, or its absence.
pub(super) type Batch = BTreeMap<(Scope, Table), BTreeMap<Vec<u8>, Option<Vec<u8>>>>;

/// Applies changes and returns those that undo them.
pub(super) fn apply(records: &mut Records, batch: Batch) -> Batch {
    let mut undo = Batch::new();
    for (place, changes) in batch {
        let table = records.entry(place).or_default();
        let undo = undo.entry(place).or_default();
        for (key, value) in changes {
            let before = match value {
                Some(value) => table.insert(key.clone(), value),
                None => table.remove(&key),
            };
            undo.insert(key, before);
        }
        if table.is_empty() {
            records.remove(&place);
        }
    }
    undo
}

/// A state with changes over it. What else may be done with it depends on its role.
pub(super) struct View<R> {
    base: Arc<Records>,
    batch: Batch,
    pub(super) role: R,
}

impl<R> View<R> {
    /// The state as it is.
    pub(super) fn of(base: Arc<Records>, role: R) -> Self {
        Self { base, batch: Batch::new(), role }
    }

    /// The changes made, and the role. The state below is let go.
    pub(super) fn into_parts(self) -> (Batch, R) {
        (self.batch, self.role)
    }

    pub(super) fn set(&mut self, scope: Scope, table: Table, key: &[u8], value: Option<Vec<u8>>) {
        self.batch.entry((scope, table)).or_default().insert(key.to_vec(), value);
    }

    pub(super) fn forget_all(&mut self, scope: Scope, table: Table) {
        let changes = self.batch.entry((scope, table)).or_default();
        changes.clear();
        changes.extend(self.base.get(&(scope, table)).into_iter().flatten().map(|(key, _)| (key.clone(), None)));
    }
}

impl<R> Read for View<R> {
    fn get(&self, scope: Scope, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(change) = self.batch.get(&(scope, table)).and_then(|changes| changes.get(key)) {
            return Ok(change.clone());
        }
        Ok(self.base.get(&(scope, table)).and_then(|records| records.get(key)).cloned())
    }

    fn scan(&self, scope: Scope, table: Table, from: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let range: (_, Bound<&[u8]>) = (from, Bound::Unbounded);
        let place = (scope, table);
        let mut old = self.base.get(&place).into_iter().flat_map(|records| records.range::<[u8], _>(range)).peekable();
        let mut new = self.batch.get(&place).into_iter().flat_map(|changes| changes.range::<[u8], _>(range)).peekable();
        loop {
            let old_key = old.peek().map(|(key, _)| *key);
            let new_key = new.peek().map(|(key, _)| *key);
            let record = match (old_key, new_key) {
                (None, None) => return Ok(()),
                (Some(old_key), Some(new_key)) if old_key < new_key => old.next(),
                (Some(_), None) => old.next(),
                (_, Some(new_key)) => {
                    old.next_if(|(key, _)| *key == new_key);
                    new.next().and_then(|(key, change)| Some((key, change.as_ref()?)))
                }
            };
            if record.is_some_and(|(key, value)| visit(key, value).is_break()) {
                return Ok(());
            }
        }
    }

    fn last(&self, scope: Scope, table: Table) -> Result<Option<Record>, StoreError> {
        let changes = self.batch.get(&(scope, table));
        let new =
            changes.and_then(|changes| changes.iter().rev().find_map(|(key, value)| Some((key, value.as_ref()?))));
        let unchanged = |key: &Vec<u8>| !changes.is_some_and(|changes| changes.contains_key(key));
        let old = self.base.get(&(scope, table));
        let old = old.and_then(|records| records.iter().rev().find(|(key, _)| unchanged(key)));
        Ok(old.max(new).map(|(key, value)| (key.clone(), value.clone())))
    }

    fn namespaces(&self) -> Result<Vec<NamespaceId>, StoreError> {
        let mut found = BTreeSet::new();
        for &(scope, table) in self.base.keys().chain(self.batch.keys()) {
            if let Scope::Namespace(id) = scope
                && self.last(scope, table)?.is_some()
            {
                found.insert(id);
            }
        }
        Ok(found.into_iter().collect())
    }
}
