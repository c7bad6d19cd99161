//! Enrolment: a device that knows an invite's secret is let into its namespace, once.
//!
//! On the control stream, after both `Hello`s, the joiner sends `Join` with a proof of the secret that is bound to this
//! connection, and gets `Welcome` with its grants, or `Reject`. The secret itself never travels. Without a right proof
//! nothing is told about the invite, not even that there is one.

use memlet_auth::proof::Exporter;
use memlet_core::id::PublicKey;

use crate::code::{CloseCode, RejectCode};
use crate::invite::Invite;
use crate::message::{Control, Join};
use crate::name::DeviceName;
use crate::replica::Fault;

/// The inviter's end of one invite. It lives as long as the invite, over all connections that use it, and it is in memory
/// only: an invite does not survive the process that made it.
#[derive(Debug)]
pub struct Inviter {
    invite: Invite,
    /// Who has used it, and with what answer.
    joined: Option<(PublicKey, Vec<Vec<u8>>)>,
}

/// The answer to a `Join`. The inviter should be told of either.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub enum Decision {
    /// The device is let in by these statements.
    Welcome(Vec<Vec<u8>>),
    /// It is not.
    Reject(RejectCode),
}

impl Decision {
    /// The message that tells the joiner.
    pub fn into_message(self) -> Control {
        match self {
            Self::Welcome(statements) => Control::Welcome(statements),
            Self::Reject(code) => Control::Reject(code),
        }
    }
}

impl Inviter {
    /// The inviter's end of an invite that no one has used.
    pub fn new(invite: Invite) -> Self {
        Self { invite, joined: None }
    }

    /// The device that has used the invite, if one has.
    pub fn joined(&self) -> Option<PublicKey> {
        self.joined.as_ref().map(|(device, _)| *device)
    }

    /// Decides about a `Join` from `joiner`, the device key that the connection of `exporter` has authenticated.
    ///
    /// `grant` is called at most once with success: it makes the statements that let the device in, durably, every parent
    /// before its children. If the answer is lost, the same device may ask again while the invite is valid and gets the same.
    ///
    /// # Errors
    /// `grant` failed; the invite can still be used.
    pub fn decide(
        &mut self,
        join: &Join,
        joiner: PublicKey,
        exporter: &Exporter,
        now_ms: u64,
        grant: impl FnOnce(PublicKey, &DeviceName) -> Result<Vec<Vec<u8>>, Fault>,
    ) -> Result<Decision, Fault> {
        let Invite { namespace, inviter, secret, expires, .. } = &self.invite;
        let proven = join.namespace == *namespace && secret.verify(exporter, inviter, &joiner, &join.proof).is_ok();
        if !proven {
            return Ok(Decision::Reject(RejectCode::WrongSecret));
        }
        let statements = match &self.joined {
            Some((device, _)) if *device != joiner => return Ok(Decision::Reject(RejectCode::Used)),
            _ if now_ms / 1_000 > *expires => return Ok(Decision::Reject(RejectCode::Expired)),
            Some((_, statements)) => statements.clone(),
            None => grant(joiner, &join.name)?,
        };
        self.joined = Some((joiner, statements.clone()));
        Ok(Decision::Welcome(statements))
    }
}

/// Why a device could not join.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Another device answered at the invite's address.
    #[error("the device at this address is not the one that made the invite")]
    WrongInviter,
    /// The invite has expired.
    #[error("the invite has expired: ask for a new one")]
    Expired,
    /// Another device has used it.
    #[error("another device has used the invite: ask for a new one")]
    Used,
    /// The inviter does not know the secret.
    #[error(
        "the inviter does not know this invite: copy the whole line, and see that `memlet invite` still runs there"
    )]
    WrongSecret,
    /// The inviter refused for a reason that this build does not know.
    #[error("the inviter refuses with the unknown code {0}: upgrade memlet on this device")]
    Rejected(u16),
    /// The inviter closed the connection instead.
    #[error("the inviter closed the connection ({0}): try again")]
    Closed(CloseCode),
    /// Anything else is no answer.
    #[error("the inviter answered with {0}, which is no answer to a request to join")]
    Unexpected(&'static str),
}

impl JoinError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::WrongInviter => "INVITE_WRONG_INVITER",
            Self::Expired => RejectCode::Expired.code(),
            Self::Used => RejectCode::Used.code(),
            Self::WrongSecret => RejectCode::WrongSecret.code(),
            Self::Rejected(_) => "INVITE_REJECTED",
            Self::Closed(code) => code.code(),
            Self::Unexpected(_) => CloseCode::Protocol.code(),
        }
    }
}

impl From<RejectCode> for JoinError {
    fn from(code: RejectCode) -> Self {
        match code {
            RejectCode::Expired => Self::Expired,
            RejectCode::Used => Self::Used,
            RejectCode::WrongSecret => Self::WrongSecret,
            RejectCode::Other(number) => Self::Rejected(number),
        }
    }
}

/// The joiner's request, as `device` on the connection of `exporter`, on which `peer` has been authenticated.
///
/// # Errors
/// [`JoinError::WrongInviter`]: `peer` did not make the invite. It must be told nothing.
pub fn request(
    invite: &Invite,
    peer: &PublicKey,
    device: &PublicKey,
    exporter: &Exporter,
    name: DeviceName,
) -> Result<Control, JoinError> {
    if *peer != invite.inviter {
        return Err(JoinError::WrongInviter);
    }
    let proof = invite.secret.prove(exporter, peer, device);
    Ok(Control::Join(Join { namespace: invite.namespace, proof, name }))
}

/// The statements in the inviter's answer. They are as unverified as any others.
///
/// # Errors
/// The answer lets no one in.
pub fn answer(message: Control) -> Result<Vec<Vec<u8>>, JoinError> {
    match message {
        Control::Welcome(statements) => Ok(statements),
        Control::Reject(code) => Err(code.into()),
        Control::Close(code) => Err(JoinError::Closed(code)),
        Control::Hello(_) => Err(JoinError::Unexpected("Hello")),
        Control::Join(_) => Err(JoinError::Unexpected("Join")),
    }
}

#[cfg(test)]
mod tests {
    use memlet_auth::proof::{InviteProof, InviteSecret};
    use memlet_core::codec::{Decode as _, Encode as _};
    use memlet_core::id::NamespaceId;

    use super::*;
    use crate::name::Address;

    const INVITER: PublicKey = PublicKey([2; 32]);
    const LAPTOP: PublicKey = PublicKey([3; 32]);
    const PHONE: PublicKey = PublicKey([4; 32]);
    const HERE: Exporter = Exporter([9; 32]);
    const EXPIRES: u64 = 1_800_000_000;
    const IN_TIME_MS: u64 = EXPIRES * 1_000 + 999;

    fn invite() -> Invite {
        Invite {
            namespace: NamespaceId([1; 32]),
            inviter: INVITER,
            addresses: vec![Address::new("192.0.2.7:4460").unwrap()],
            secret: InviteSecret::from_bytes([5; 32]),
            expires: EXPIRES,
        }
    }

    fn join(invite: &Invite, device: PublicKey, exporter: Exporter) -> Join {
        let request = request(invite, &INVITER, &device, &exporter, DeviceName::new("laptop").unwrap()).unwrap();
        match Control::from_cbor(&request.to_cbor()).unwrap() {
            Control::Join(join) => join,
            other => panic!("{other:?}"),
        }
    }

    fn grant(device: PublicKey, name: &DeviceName) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(vec![device.0.to_vec(), name.as_str().into()])
    }

    fn no_grant(_: PublicKey, _: &DeviceName) -> Result<Vec<Vec<u8>>, Fault> {
        panic!("no grant must be made")
    }

    #[test]
    fn whoever_knows_the_secret_is_let_in() {
        let mut inviter = Inviter::new(invite());
        let decision = inviter.decide(&join(&invite(), LAPTOP, HERE), LAPTOP, &HERE, IN_TIME_MS, grant).unwrap();
        assert_eq!(inviter.joined(), Some(LAPTOP));
        assert_eq!(answer(decision.into_message()), Ok(vec![vec![3; 32], b"laptop".to_vec()]));
    }

    #[test]
    fn case_76_a_second_device_is_refused_and_the_first_may_ask_again() {
        let mut inviter = Inviter::new(invite());
        let first = inviter.decide(&join(&invite(), LAPTOP, HERE), LAPTOP, &HERE, IN_TIME_MS, grant).unwrap();
        let second = inviter.decide(&join(&invite(), PHONE, HERE), PHONE, &HERE, IN_TIME_MS, no_grant).unwrap();
        assert_eq!(answer(second.into_message()), Err(JoinError::Used));
        let there = Exporter([8; 32]);
        let again = inviter.decide(&join(&invite(), LAPTOP, there), LAPTOP, &there, IN_TIME_MS, no_grant).unwrap();
        assert_eq!(again, first);
        assert_eq!(inviter.joined(), Some(LAPTOP));
    }

    #[test]
    fn case_77_an_invite_ends_with_its_time() {
        let mut inviter = Inviter::new(invite());
        let join = join(&invite(), LAPTOP, HERE);
        let late = inviter.decide(&join, LAPTOP, &HERE, IN_TIME_MS + 1, no_grant).unwrap();
        assert_eq!(answer(late.into_message()), Err(JoinError::Expired));
        assert_eq!(inviter.joined(), None);
    }

    #[test]
    fn a_wrong_proof_learns_nothing_about_the_invite() {
        let mut inviter = Inviter::new(invite());
        let other_secret = Invite { secret: InviteSecret::from_bytes([6; 32]), ..invite() };
        let other_namespace = Invite { namespace: NamespaceId([7; 32]), ..invite() };
        let good = join(&invite(), LAPTOP, HERE);
        let replayed = join(&invite(), LAPTOP, Exporter([8; 32]));
        let zero = Join { proof: InviteProof([0; 32]), ..good.clone() };
        let mut wrong = |join: &Join, joiner| {
            let late = inviter.decide(join, joiner, &HERE, IN_TIME_MS + 1, no_grant).unwrap();
            let in_time = inviter.decide(join, joiner, &HERE, IN_TIME_MS, no_grant).unwrap();
            assert_eq!(late, in_time);
            assert_eq!(in_time, Decision::Reject(RejectCode::WrongSecret));
        };
        wrong(&join(&other_secret, LAPTOP, HERE), LAPTOP);
        wrong(&join(&other_namespace, LAPTOP, HERE), LAPTOP);
        wrong(&good, PHONE);
        wrong(&replayed, LAPTOP);
        wrong(&zero, LAPTOP);
        assert_eq!(inviter.joined(), None);
    }

    #[test]
    fn an_invite_stays_open_when_the_grant_could_not_be_made() {
        let mut inviter = Inviter::new(invite());
        let join = join(&invite(), LAPTOP, HERE);
        let failed = inviter.decide(&join, LAPTOP, &HERE, IN_TIME_MS, |_, _| Err(Fault::new("the disk is full")));
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert!(matches!(inviter.decide(&join, LAPTOP, &HERE, IN_TIME_MS, grant), Ok(Decision::Welcome(_))));
    }

    #[test]
    fn the_joiner_talks_to_the_inviter_alone_and_takes_only_answers() {
        let name = DeviceName::new("laptop").unwrap();
        assert_eq!(request(&invite(), &PHONE, &LAPTOP, &HERE, name).unwrap_err(), JoinError::WrongInviter);
        let echo = Control::Join(join(&invite(), LAPTOP, HERE));
        assert_eq!(answer(echo), Err(JoinError::Unexpected("Join")));
        assert_eq!(answer(Control::Close(CloseCode::Busy)), Err(JoinError::Closed(CloseCode::Busy)));
        assert_eq!(answer(Control::Reject(RejectCode::Other(77))), Err(JoinError::Rejected(77)));
    }
}
