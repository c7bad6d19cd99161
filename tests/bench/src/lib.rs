//! What the benchmarks share: the same texts written into memlet and into its peers, two sides brought level in one process,
//! and medians of work that was measured in turns.
//!
//! Every figure is printed as a row of Markdown, beside what the peer costs in the same run. What is measured is also
//! checked: a sample whose two sides do not end level panics.

pub mod device;
pub mod exchange;
pub mod measure;
pub mod plain;
pub mod repos;

use std::sync::LazyLock;

/// Milliseconds since 1970 at which every clock of a benchmark starts.
pub const NOW_MS: u64 = 1_796_000_000_000;

/// Items of the list that most figures are about.
pub const ITEMS: u64 = 1_000;

/// What item `n` says, in memlet and in every peer: eight to twelve words, so that texts compress about as notes do and not
/// to nothing.
pub fn text(n: u64) -> String {
    let mut state = n;
    let mut below = |bound: usize| {
        // SplitMix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("it is below a usize")
    };
    let length = 8 + below(5);
    (0..length).map(|_| WORDS[below(WORDS.len())]).collect::<Vec<_>>().join(" ")
}

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| VOCABULARY.split_whitespace().collect());

const VOCABULARY: &str = "
    account address after agenda airport allergic already always anna answer april architecture around asks august aunt
    autumn avoid backup balcony bank batch before begins berlin between bicycle bill birthday blue board book branch bread
    breakfast bridge brief bring brother budget build calendar call car carries cat change charge cheap check child cinema
    city class clean client coast code coffee cold collects column commit compiler concert contract cook copy corner cost
    cousin cycle daily dark database daughter deadline december degree deploy design desk dinner direct doctor dog draft
    drives early east edit editor eight email empty evening every exam exercise export family fast favourite february
    field file first fish five flat flight floor folder four french friday friend garden german gift glass green grows
    guitar hall hands harbour hates heating helsinki hill history holiday hospital hotel hour house idea import index
    invoice island italian january job july june keeps key kilometre kitchen lab lamp landlord language laptop large late
    layout learn left letter library licence light lisbon list lives long looks lunch machine mail manager march market
    medicine meeting member merge metric michael middle minute mobile monday money month morning moves museum music name
    near needs neighbour never new night nine north note november number nuts october office often older open orange order
    page paint paper parcel park partner passport password patch pays peanut pencil phone piano plan plant platform plays
    porto prefers price print private project python quarter query quiet rail rain reads recipe red release rent repeat
    report review river road room rust saturday saves school screen sea second sells september server seven shares ship
    shop short sister sleeps small snow south spanish speaks spring staging station stays street student studio summer
    sunday swims table talks tax teacher team tennis test thursday ticket time today tomorrow train travels tuesday twelve
    under update usually vegetarian version video village visits walks wants warm water wednesday week west window winter
    works writes year yellow yesterday zone";
