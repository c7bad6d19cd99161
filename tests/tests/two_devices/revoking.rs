//! Cutting off a device: what it did that nobody had vouched for is gone everywhere, and it is let in nowhere.

use memlet_tests::Device;

use super::support::{Serving, assert_level, in_both_orders, meet, texts, until};

fn did(device: &Device) -> String {
    device.run(["id", "--json"]).json()["device"].as_str().unwrap().to_owned()
}

#[test]
fn a_stolen_laptop_is_out_in_one_command() {
    in_both_orders(|[phone, laptop, tablet]: &[Device; 3]| {
        phone.remember("of the phone");
        laptop.remember("before");
        meet(laptop, phone);
        meet(tablet, phone);
        laptop.remember("by the thief");
        meet(laptop, tablet);
        assert_eq!(texts(tablet), ["of the phone", "before", "by the thief"]);

        let cut = phone.run(["revoke", &did(laptop), "--json"]).json();
        assert_eq!((&cut["device"], &cut["kept"], &cut["left_out"]), (&did(laptop).into(), &1.into(), &0.into()));
        meet(tablet, phone);
        assert_level(tablet, phone);
        assert_eq!(texts(tablet), ["of the phone", "before"]);
        assert_eq!(tablet.run(["devices", "--json"]).json().as_array().unwrap().len(), 2);

        for device in [phone, tablet] {
            let serving = Serving::begin(device);
            laptop.run(["sync", "--peer", &serving.address.to_string(), "--json"]).failed_with_code(1);
            let refused = serving.end();
            assert!(refused.contains_key("OPEN_NO_GRANT"), "{refused:?}");
            assert_eq!(texts(device), ["of the phone", "before"]);
            device.run(["doctor"]).succeeded();
        }
    });
}

#[test]
fn one_that_is_connected_is_told_nothing_more() {
    in_both_orders(|[phone, laptop, tablet]: &[Device; 3]| {
        let phone_serves = Serving::begin(phone);
        let others = [laptop, tablet].map(|device| {
            device.run(["sync", "--peer", &phone_serves.address.to_string()]).succeeded();
            Serving::begin(device)
        });
        phone.remember("before");
        for device in [laptop, tablet] {
            until("the first item", || texts(device) == ["before"]);
        }
        phone.run(["revoke", &did(laptop)]).succeeded();
        phone.remember("after");
        until("the second item", || texts(tablet) == ["before", "after"]);
        assert_eq!(texts(laptop), ["before"]);
        let refused = phone_serves.end();
        assert!(refused.contains_key("GRANT_ENDED"), "{refused:?}");
        assert_eq!(texts(laptop), ["before"]);
        others.into_iter().for_each(|serving| drop(serving.end()));
    });
}

#[test]
fn nothing_of_it_stays_if_so_asked() {
    in_both_orders(|[phone, laptop]: &[Device; 2]| {
        phone.remember("of the phone");
        laptop.remember("of the laptop");
        meet(laptop, phone);
        let cut = phone.run(["revoke", &did(laptop), "--keep", "nothing", "--json"]).json();
        assert_eq!((&cut["kept"], &cut["left_out"]), (&0.into(), &1.into()));
        assert_eq!(texts(phone), ["of the phone"]);
    });
}

#[test]
fn who_is_meant_must_be_clear_and_may_not_be_oneself() {
    in_both_orders(|[phone, _]: &[Device; 2]| {
        phone.remember("of the phone");
        let refused = |whom: &str, exit_code| phone.run(["revoke", whom, "--json"]).failed_with_code(exit_code);
        assert_eq!(refused("nobody", 2), "USAGE");
        assert_eq!(refused("z6Mk", 2), "USAGE");
        assert_eq!(refused(&did(phone), 1), "REVOKES_ITSELF");
        assert_eq!(phone.run(["devices", "--json"]).json().as_array().unwrap().len(), 2);
    });
}
