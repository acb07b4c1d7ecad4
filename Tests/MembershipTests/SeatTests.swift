import Glibc
import Host
import Store
import TestSupport
import Testing

@testable import Membership

@Suite struct SeatTests {
    @Test func `each worker takes the lowest free seat, with an epoch of its own, and holds it for life`() async throws
    {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        let presence = LocalPresence(RunDirectory(path: directory.path))
        func isHeld(_ seat: Int) -> Bool { presence.holder(of: .worker(seat: seat)) != nil }
        var epochs: Set<Int64> = []
        do {
            let first = try presence.takeSeat()
            #expect(first.session.seat == 0)
            do {
                let second = try presence.takeSeat()
                #expect(second.session.seat == 1)
                let third = try presence.takeSeat()
                #expect(third.session.seat == 2)
                epochs = [first.session.epoch, second.session.epoch, third.session.epoch]
                #expect(isHeld(1))
                withExtendedLifetime(second) {}
                withExtendedLifetime(third) {}
            }
            // The second and the third are gone, the first is not. Another test's child has them until it has begun.
            try await until("free seats") { (1...2).allSatisfy { !isHeld($0) } }
            let next = try presence.takeSeat()
            #expect(next.session.seat == 1)
            epochs.insert(next.session.epoch)
            #expect(isHeld(0))
            withExtendedLifetime(first) {}
        }
        #expect(epochs.count == 4 && epochs.allSatisfy { $0 > 0 })
    }

    @Test func `a session names the process, its start time and the boot`() throws {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        let session = try LocalPresence(RunDirectory(path: directory.path)).takeSeat().session
        #expect(session.seat == 0 && session.epoch > 0 && session.pid == getpid())
        #expect(session.startTime > 0 && session.startTime == ProcessIdentity.startTime(of: getpid()))
        #expect(session.bootID == ProcessIdentity.bootID && !session.bootID.isEmpty)
    }

    @Test func `the lock file of a seat names its epoch`() throws {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        let run = RunDirectory(path: directory.path)
        let seat = try LocalPresence(run).takeSeat()
        #expect(TextFile.read(run.lock(.seat(0))) == "\(seat.session.epoch)\n")
        withExtendedLifetime(seat) {}
    }
}
