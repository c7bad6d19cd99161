//! `memlet demo`: two devices and a late third, in temporary directories on the loopback interface.
//!
//! It is the real thing: three data directories, real stores, QUIC between them. Every statement that is printed has been
//! checked, and the first that is not true ends the demo with an error.

use serde_json::json;

use crate::failure::Failure;
use crate::network;
use crate::output::Output;
use device::Device;
use story::Story;

mod device;
mod story;

pub(super) fn demo(output: Output) -> Result<(), Failure> {
    let stage = tempfile::Builder::new().prefix("memlet-demo-").tempdir().map_err(Failure::System)?;
    let device = |name| Device::new(stage.path(), name);
    let (laptop, phone, tablet) = (device("laptop")?, device("phone")?, device("tablet")?);
    let mut story = Story::begin(output);
    network::runtime()?.block_on(play(&mut story, &laptop, &phone, &tablet))?;
    let told = story.end()?;
    if output.is_json() { output.line(&json!({"ok": true, "statements": told}).to_string()) } else { Ok(()) }
}

async fn play(story: &mut Story, laptop: &Device, phone: &Device, tablet: &Device) -> Result<(), Failure> {
    story.scene("A laptop begins a memory")?;
    laptop.begin()?;
    story.shows(laptop.remember("Prefers metric units")?)?;
    story.shows(laptop.remember("Lives in Lisbon")?)?;
    story.recalls(laptop)?;
    story.states(
        "the laptop recalls both, in order",
        laptop.recall()? == "1. Prefers metric units\n2. Lives in Lisbon",
    )?;

    story.scene("A phone is let in by a one-time invite, and syncs over QUIC")?;
    let level = phone.join(laptop).await?;
    story.states("the phone has joined, and both hold the same", level)?;
    story.states("the phone recalls what the laptop recalls", phone.recall()? == laptop.recall()?)?;

    story.scene("Both edit while they cannot reach each other")?;
    story.shows(laptop.update(1, "Prefers SI units")?)?;
    story.shows(laptop.remember("Allergic to peanuts")?)?;
    story.shows(phone.remember("Works at night")?)?;
    story.states("neither knows of the other's edits", {
        let (on_laptop, on_phone) = (laptop.recall()?, phone.recall()?);
        !on_laptop.contains("night") && !on_phone.contains("SI") && !on_phone.contains("peanuts")
    })?;

    story.scene("They sync")?;
    story.states("one exchange brings them level", phone.sync(laptop).await?)?;
    story.recalls(phone)?;
    story.states("both recall the same, in the same order", phone.recall()? == laptop.recall()?)?;
    story.states("all edits are there, none in place of another", {
        let recalled = phone.recall()?;
        let holds = |text| recalled.contains(text);
        recalled.lines().count() == 4 && ["SI units", "Lisbon", "peanuts", "night"].into_iter().all(holds)
    })?;

    story.scene("A tablet joins, and leaves with a copy")?;
    story.states("the tablet has joined, and both hold the same", tablet.join(laptop).await?)?;

    story.scene("The phone forgets, and syncs with the laptop")?;
    story.shows(phone.forget("Lives in Lisbon")?)?;
    story.states("one exchange brings them level", phone.sync(laptop).await?)?;
    story
        .states("it is gone from both", !phone.recall()?.contains("Lisbon") && !laptop.recall()?.contains("Lisbon"))?;

    story.scene("The tablet returns late, with its old copy and an edit of its own")?;
    story.shows(tablet.remember("Learns Portuguese")?)?;
    story.states("its copy still has what the others forgot", tablet.recall()?.contains("Lisbon"))?;
    story.states("one exchange brings it level with the laptop", tablet.sync(laptop).await?)?;
    story.states("one more brings the phone level", phone.sync(laptop).await?)?;
    story.recalls(tablet)?;
    let devices = [laptop, phone, tablet];
    let mut recalled = Vec::new();
    for device in devices {
        recalled.push(device.recall()?);
    }
    story.states("all three recall the same", recalled.iter().all(|one| *one == recalled[0]))?;
    story
        .states("what was forgotten has not come back anywhere", recalled.iter().all(|one| !one.contains("Lisbon")))?;
    story.states("the tablet's edit has reached them all", recalled.iter().all(|one| one.contains("Portuguese")))?;
    let [first, rest @ ..] = devices;
    let state = first.state()?;
    for device in rest {
        story.states(
            &format!("the documents of {first} and {device} are equal, byte for byte"),
            device.state()? == state,
        )?;
    }
    Ok(())
}
