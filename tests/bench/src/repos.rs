//! samod: two repositories in one process, storage in memory, and a connection between them on which everything is counted.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use automerge::Automerge;
use futures::channel::mpsc;
use futures::future::{BoxFuture, ready, select};
use futures::{FutureExt as _, SinkExt as _, StreamExt as _};
use samod::{AcceptorHandle, BackoffConfig, DialError, Dialer, DialerHandle, DocHandle, Repo, Transport, Url};
use tokio::runtime::Runtime;
use tokio::time::{sleep, sleep_until};

use crate::plain::{self, LENGTH_BYTES};

/// How long nothing must cross a connection for its exchange to count as over.
const SILENCE: Duration = Duration::from_millis(50);

/// What samod runs on: two threads, as a node of memlet has.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("threads can be had")
}

/// Two repositories.
pub struct Repos {
    repos: [Repo; 2],
    acceptor: AcceptorHandle,
}

/// The document of each repository.
pub type Documents = [DocHandle; 2];

/// A connection between two repositories.
pub struct Link {
    dialer: DialerHandle<Infallible>,
    traffic: Arc<Traffic>,
}

impl Repos {
    /// Two repositories without documents.
    pub async fn new() -> Self {
        let repos = [Repo::build_tokio().load().await, Repo::build_tokio().load().await];
        let acceptor = repos[0].make_acceptor(url()).expect("the repository runs");
        Self { repos, acceptor }
    }

    /// Puts a document into the first repository.
    pub async fn create(&self, document: &Automerge) -> DocHandle {
        self.repos[0].create(document.clone()).await.expect("the repository runs")
    }

    /// Lets the second repository dial the first, over a connection on which a message takes `delay` one way.
    pub async fn connect(&self, delay: Duration) -> Link {
        let traffic = Arc::new(Traffic::default());
        let line = Line { acceptor: self.acceptor.clone(), traffic: Arc::clone(&traffic), delay };
        let dialer = self.repos[1].dial(BackoffConfig::default(), Arc::new(line)).expect("the repository runs");
        dialer.established().await.expect("the connection is made");
        Link { dialer, traffic }
    }

    /// Finds in the second repository what is in the first, over the connection between them.
    pub async fn find(&self, first: DocHandle) -> Documents {
        let found = self.repos[1].find(first.document_id().clone()).await.expect("the repository runs");
        [first, found.expect("the peer has it")]
    }

    /// Two repositories that hold the same document and are not connected.
    pub async fn level(document: &Automerge) -> (Self, Documents) {
        let repos = Self::new().await;
        let first = repos.create(document).await;
        let link = repos.connect(Duration::ZERO).await;
        let documents = repos.find(first).await;
        until_level(&documents).await;
        link.until_silent().await;
        link.close();
        (repos, documents)
    }

    /// Ends both.
    pub async fn stop(self) {
        for repo in &self.repos {
            repo.stop().await;
        }
    }
}

/// Adds item `n` to a document.
pub fn remember(document: &DocHandle, n: u64) {
    document.with_document(|document| plain::remember(document, n));
}

/// Waits until both documents are the same.
pub async fn until_level(documents: &Documents) {
    let [first, second] = documents;
    let (mut first_changes, mut second_changes) = (pin!(first.changes()), pin!(second.changes()));
    let heads = |document: &DocHandle| document.with_document(|document| document.get_heads());
    while heads(first) != heads(second) {
        select(first_changes.next(), second_changes.next()).await;
    }
}

impl Link {
    /// Messages and bytes both ways so far, but for the greeting of either side.
    pub fn traffic(&self) -> (usize, usize) {
        self.traffic.beyond_greeting()
    }

    /// Waits until nothing has crossed for a while.
    pub async fn until_silent(&self) {
        let mut before = self.traffic();
        loop {
            sleep(SILENCE).await;
            let now = self.traffic();
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// Waits until the first repository is known to have all of this document of the second.
    pub async fn until_acknowledged(&self, document: &DocHandle) {
        let connection = self.dialer.connection_id().expect("the connection is up");
        document.they_have_our_changes(connection).await;
    }

    /// Closes it.
    pub fn close(self) {
        self.dialer.close();
    }
}

/// How many answers a side had waited for when `elapsed` had gone by on a connection on which a message takes `delay` one way.
pub fn round_trips(elapsed: Duration, delay: Duration) -> usize {
    let flights = (elapsed + delay / 2).as_nanos() / delay.as_nanos();
    usize::try_from(flights / 2).expect("it fits")
}

/// What has crossed a connection.
#[derive(Default)]
struct Traffic {
    messages: [AtomicUsize; 2],
    bytes: AtomicUsize,
}

impl Traffic {
    fn count(&self, way: usize, message: &[u8]) {
        let is_greeting = self.messages[way].fetch_add(1, Ordering::Relaxed) == 0;
        if !is_greeting {
            self.bytes.fetch_add(LENGTH_BYTES + message.len(), Ordering::Relaxed);
        }
    }

    fn beyond_greeting(&self) -> (usize, usize) {
        let messages = self.messages.iter().map(|way| way.load(Ordering::Relaxed).saturating_sub(1)).sum();
        (messages, self.bytes.load(Ordering::Relaxed))
    }
}

/// How the second repository reaches the first.
struct Line {
    acceptor: AcceptorHandle,
    traffic: Arc<Traffic>,
    delay: Duration,
}

impl Dialer for Line {
    type Error = Infallible;

    fn url(&self) -> Url {
        url()
    }

    fn connect(&self) -> BoxFuture<'static, Result<Transport, DialError<Infallible>>> {
        let [(first_in, second_out), (second_in, first_out)] = [0, 1].map(|way| self.way(way));
        let accepted = self.acceptor.accept(Transport::new(first_in, first_out)).map_err(DialError::transient);
        async move { accepted.map(|_| Transport::new(second_in, second_out)) }.boxed()
    }
}

impl Line {
    /// One way: where messages come out, and where they go in.
    fn way(
        &self,
        way: usize,
    ) -> (
        impl futures::Stream<Item = Result<Vec<u8>, Infallible>> + Send + Unpin + use<>,
        impl futures::Sink<Vec<u8>, Error = mpsc::SendError> + Send + Unpin + use<>,
    ) {
        let (sender, receiver) = mpsc::unbounded();
        let (traffic, delay) = (Arc::clone(&self.traffic), self.delay);
        let sender = sender.with(move |message: Vec<u8>| {
            traffic.count(way, &message);
            ready(Ok((Instant::now() + delay, message)))
        });
        let receiver = receiver.then(move |(due, message)| async move {
            if !delay.is_zero() {
                sleep_until(due.into()).await;
            }
            Ok(message)
        });
        (receiver.boxed(), sender)
    }
}

fn url() -> Url {
    Url::parse("memory://first").expect("a valid address")
}
