import Commands
import Glibc
import Host
import Store
import Synchronization
import TestSupport
import Testing
import ZeroMQ

@testable import Membership

/// The promises of every implementation of ``Presence``. A holder that is killed or stopped is a real process.
@Suite(.timeLimit(.minutes(2))) struct PresenceConformance {
    // MARK: Holders

    @Test(arguments: PresenceKind.allCases)
    func `a role has one holder, which other processes see until it ends`(_ kind: PresenceKind) async throws {
        try await PresenceRig.with(kind) { rig in
            for (role, name) in [(Role.coordinator, "coordinator"), (.door, "door")] {
                #expect(rig.presence.holder(of: role) == nil)
                let holder = try await rig.start(name)
                #expect(rig.presence.holder(of: role) == Holder(pid: holder.pid))
                let error = #expect(throws: StoreError.self) { try rig.take(role) }
                #expect(error?.code == .busy && error?.message.contains("process \(holder.pid)") == true)
                await holder.finish()
                #expect(rig.presence.remainingHolder(of: role) == nil)
                let taken = try rig.take(role)
                #expect(rig.presence.holder(of: role) == Holder(pid: getpid()))
                withExtendedLifetime(taken) {}
            }
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `the epoch of a coordinator is greater than all before`(_ kind: PresenceKind) async throws {
        try await PresenceRig.with(kind) { rig in
            let now = Timestamp.now
            let first = try rig.presence.takeCoordination(now: now).epoch
            #expect(try rig.presence.takeCoordination(now: now + .seconds(-3600)).epoch > first)
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `all seats can be taken, each by one worker`(_ kind: PresenceKind) async throws {
        try await PresenceRig.with(kind) { rig in
            let holder = try await rig.start("seats", "\(Role.maxSeats)")
            let sessions = rig.sessions(of: holder)
            #expect(sessions.map(\.seat) == Array(0..<256))
            #expect(Set(sessions.map(\.epoch)).count == 256 && sessions.allSatisfy { $0.epoch > 0 })
            let error = #expect(throws: StoreError.self) { try rig.presence.takeSeat() }
            #expect(error?.code == .busy && error?.message.contains("all 256 seats") == true)
            await holder.finish()
            try await until("a free seat") { (try? rig.presence.takeSeat().session.seat) == 0 }
        }
    }

    // MARK: Deaths

    @Test(arguments: PresenceKind.allCases)
    func `the death of a worker that is killed is proven, and its seat is kept free for as long as the proof is held`(
        _ kind: PresenceKind
    ) async throws {
        try await PresenceRig.with(kind) { rig in
            let holder = try await rig.start("seats")
            let session = try #require(rig.sessions(of: holder).first)
            #expect(rig.presence.holder(of: .worker(seat: 0)) == Holder(pid: holder.pid))
            #expect(try rig.presence.proveDeath(inSeat: 0) == nil)
            holder.signal(SIGKILL)
            let proof = try await awaited("the proof") { try rig.presence.proveDeath(inSeat: 0) }
            #expect(rig.presence.deathReport(on: session) == DeathReport(.crash, started: nil))
            #expect(try rig.presence.takeSeat().session.seat == 1)
            withExtendedLifetime(proof) {}
            await holder.finish()
            #expect(rig.presence.watch(session) == nil)
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `a worker that is stopped has its seat, and gives no sign of life`(_ kind: PresenceKind) async throws {
        try await PresenceRig.with(kind) { rig in
            let holder = try await rig.start("seats")
            let session = try #require(rig.sessions(of: holder).first)
            let role = Role.worker(seat: 0)
            let first = try await awaited("a sign of life") { rig.presence.signOfLife(of: role) }
            try await until("the next sign of life") { rig.presence.signOfLife(of: role) != first }
            holder.signal(SIGSTOP)
            try await until("the stop") { ProcessIdentity.isStopped(holder.pid) }
            let last = rig.presence.signOfLife(of: role)
            try await Task.sleep(for: .milliseconds(300))
            #expect(rig.presence.signOfLife(of: role) == last)
            #expect(rig.presence.holder(of: role) == Holder(pid: holder.pid))
            #expect(try rig.presence.proveDeath(inSeat: 0) == nil)
            #expect(try rig.presence.takeSeat().session.seat == 1)

            // A person has stopped it, so that its death is intended.
            let watch = try #require(rig.presence.watch(session))
            watch.killHung()
            _ = try await awaited("the proof") { try rig.presence.proveDeath(inSeat: 0) }
            #expect(rig.presence.deathReport(on: session).cause == .intended)
            #expect(await holder.end == .signalled(SIGKILL))
            await holder.finish()
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `a note says that a process is killed intentionally, until its session is gone`(
        _ kind: PresenceKind
    ) async throws {
        try await PresenceRig.with(kind) { rig in
            let holder = try await rig.start("seats")
            let session = try #require(rig.sessions(of: holder).first)
            rig.presence.noteIntentionalKill(of: holder.pid)
            await holder.finish()
            #expect(rig.presence.deathReport(on: session).cause == .intended)
            func removeStaleNotes(_ sessions: [Session]) throws {
                let reading = SessionReading(sessions, isComplete: true)
                #expect(try rig.presence.removeStaleNotes { () throws(StoreError) in reading } == reading)
            }
            try removeStaleNotes([session])
            #expect(rig.presence.deathReport(on: session).cause == .intended)
            try removeStaleNotes([])
            #expect(rig.presence.deathReport(on: session).cause == .crash)
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `the end of a process that is watched is told once, and of no other process`(_ kind: PresenceKind) async throws
    {
        try await PresenceRig.with(kind) { rig in
            let holder = try await rig.start("seats")
            let session = try #require(rig.sessions(of: holder).first)
            var other = session
            other.startTime += 1
            #expect(rig.presence.watch(other) == nil)
            let loop = try PollLoop(name: "watch")
            let ends = Mutex(0)
            let watch = try #require(rig.presence.watch(session))
            let onLoop = UncheckedBox(watch)
            await loop.run { onLoop.value.whenEnded(on: loop) { ends.withLock { $0 += 1 } } }
            #expect(ends.withLock { $0 } == 0)
            await holder.finish()
            try await until("the end") { ends.withLock { $0 } > 0 }
            await loop.run { onLoop.value.stop() }
            #expect(ends.withLock { $0 } == 1)
            loop.stop()
            await loop.stopped()
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `a session of another boot is of a reboot, and its process id says nothing`(_ kind: PresenceKind) async throws
    {
        try await PresenceRig.with(kind) { rig in
            let seat = try rig.presence.takeSeat()
            let log = try #require(seat.openIntentLog(capacity: 2))
            let id = CommandID()
            _ = log.begin(id)
            var session = seat.session
            #expect(rig.presence.watch(session) != nil)
            #expect(
                rig.presence.deathReport(on: session)
                    == DeathReport(.crash, started: StartedExecutions(executing: [id])))
            session.bootID = "00000000-0000-0000-0000-000000000000"
            #expect(rig.presence.watch(session) == nil)
            #expect(rig.presence.deathReport(on: session) == DeathReport(.reboot, started: nil))
            seat.removeIntentLog()
            #expect(rig.presence.deathReport(on: seat.session) == DeathReport(.crash, started: nil))
        }
    }

    // MARK: Files

    @Test(arguments: PresenceKind.allCases)
    func `a role whose file was removed is restored, and never held twice`(_ kind: PresenceKind) async throws {
        try await PresenceRig.with(kind) { rig in
            let coordinator = try rig.presence.takeCoordination(now: .now)
            let seat = try rig.presence.takeSeat()
            #expect(try !coordinator.renew() && !seat.renew())
            rig.removeFiles(of: .coordinator)
            rig.removeFiles(of: .worker(seat: 0))
            #expect(throws: StoreError.self) { try rig.take(.coordinator) }
            let other = try rig.presence.takeSeat()
            #expect(other.session.seat == 1)
            // The proof of a death is not obtained either.
            #expect(try rig.presence.proveDeath(inSeat: 0) == nil)
            #expect(try coordinator.renew() && seat.renew())
            #expect(try !coordinator.renew() && !seat.renew())
            #expect(rig.presence.holder(of: .coordinator) == Holder(pid: getpid()))
            #expect(!rig.presence.isTaken(seat: 0, byOtherThan: seat.session.epoch))
            #expect(rig.presence.isTaken(seat: 0, byOtherThan: other.session.epoch))
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `a process whose directory was replaced must end, and keeps its role until then`(
        _ kind: PresenceKind
    ) async throws {
        try await PresenceRig.with(kind) { rig in
            let coordinator = try rig.presence.takeCoordination(now: .now)
            let seat = try rig.presence.takeSeat()
            try rig.replaceDirectory()
            for role in [coordinator, seat] as [any HeldRole] {
                let error = #expect(throws: StoreError.self) { try role.renew() }
                #expect(error?.code == .missing && error?.message.contains("was removed or replaced") == true)
            }
            #expect(throws: StoreError.self) { try rig.take(.coordinator) }
            #expect(try rig.presence.takeSeat().session.seat == 1)
            withExtendedLifetime((coordinator, seat)) {}
        }
    }
}

/// A watch is confined to its loop, where the test uses it.
private struct UncheckedBox: @unchecked Sendable {
    let value: any ProcessWatch

    init(_ value: any ProcessWatch) { self.value = value }
}
