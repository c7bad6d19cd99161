//! Holding what a replica shows against what it may show.

use std::collections::BTreeSet;

use super::{Item, ItemId, Model, Operations};
use crate::failure::{Checker, Failure};

impl Model {
    /// The items at a place that a replica which holds `held` must show; of a leaf it shows one of them.
    pub fn survivors(&self, place: &str, held: &Operations) -> Vec<ItemId> {
        let here = self.items.iter().enumerate().filter(|(_, item)| item.place == place);
        here.filter(|(_, item)| item.survives(held)).map(|(id, _)| id).collect()
    }

    /// Checks the list that a replica shows at a place.
    ///
    /// # Errors
    /// It shows what it must not, does not show what it must, or in a wrong order.
    pub fn check_list(&self, place: &str, held: &Operations, shown: &[String]) -> Result<(), Failure> {
        let mut seen = BTreeSet::new();
        for text in shown {
            let item = self.check_text(place, held, text)?;
            if !seen.insert(item) {
                return Err(Failure::new(
                    Checker::OnlyWhatWasWritten,
                    format!("{place} shows an item twice: {text:.60}"),
                ));
            }
        }
        if let Some(lost) = self.survivors(place, held).into_iter().find(|item| !seen.contains(item)) {
            let text = &self.items[lost].texts[0].1;
            return Err(Failure::new(Checker::NoLoss, format!("{place} does not show {text:.60}")));
        }
        self.check_own_order(place, held, shown)
    }

    /// Checks the value that a replica shows at a leaf, if any.
    ///
    /// # Errors
    /// It shows what it must not, or nothing though a value survives.
    pub fn check_leaf(&self, place: &str, held: &Operations, shown: Option<&str>) -> Result<(), Failure> {
        match (shown, self.survivors(place, held).first()) {
            (Some(text), _) => self.check_text(place, held, text).map(drop),
            (None, None) => Ok(()),
            (None, Some(lost)) => {
                let text = &self.items[*lost].texts[0].1;
                Err(Failure::new(Checker::NoLoss, format!("{place} shows nothing, but {text:.60} was written")))
            }
        }
    }

    /// Checks one text; gives its item.
    fn check_text(&self, place: &str, held: &Operations, text: &str) -> Result<ItemId, Failure> {
        let fail = |checker, what: &str| Err(Failure::new(checker, format!("{place} shows {what}: {text:.60}")));
        let Some((id, version)) = self.texts.get(text).copied() else {
            return fail(Checker::OnlyWhatWasWritten, "what nobody wrote");
        };
        let item = &self.items[id];
        if item.place != place || !held.contains(item.texts[version].0) {
            return fail(Checker::OnlyWhatWasWritten, "what was not written there as far as it knows");
        }
        if !item.survives(held) {
            return fail(Checker::NoResurrection, "what was removed");
        }
        let (writer, _) = item.texts[version];
        let replaced =
            |(other, _): &(usize, String)| held.contains(*other) && self.operations[*other].past.contains(writer);
        if item.texts.iter().any(replaced) {
            return fail(Checker::OnlyWhatWasWritten, "a text that was replaced");
        }
        Ok(id)
    }

    /// Of the items that one replica has put at the end, a later one never stands before an earlier one.
    fn check_own_order(&self, place: &str, held: &Operations, shown: &[String]) -> Result<(), Failure> {
        let items: Vec<&Item> =
            shown.iter().map(|text| &self.items[self.texts[text].0]).filter(|item| item.appended).collect();
        for (at, later) in items.iter().enumerate() {
            let actor = self.operations[later.adder].actor;
            let earlier = items[..at].iter().find(|earlier| {
                self.operations[earlier.adder].actor == actor
                    && self.operations[earlier.adder].past.contains(later.adder)
            });
            if let Some(earlier) = earlier {
                let (first, second) = (&later.texts[0].1, &earlier.texts[0].1);
                let detail = format!("{place} shows {second:.60} before {first:.60}, which its replica appended first");
                return Err(Failure::new(Checker::OwnOrder, detail));
            }
        }
        debug_assert!(items.iter().all(|item| held.contains(item.adder)), "checked text by text before");
        Ok(())
    }
}

impl Item {
    fn survives(&self, held: &Operations) -> bool {
        held.contains(self.adder) && !self.removers.iter().any(|remover| held.contains(*remover))
    }
}
