import Glibc
import Host
import Store
import TestSupport
import Testing

@testable import Work

@Suite struct SeatTests {
    @Test func `each worker takes the lowest free seat, with an epoch of its own, and holds it for life`() async throws
    {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        var epochs: Set<Int64> = []
        do {
            let first = try Seat.take(in: RunDirectory(path: directory.path))
            #expect(first.number == 0)
            do {
                let second = try Seat.take(in: RunDirectory(path: directory.path))
                #expect(second.number == 1)
                let third = try Seat.take(in: RunDirectory(path: directory.path))
                #expect(third.number == 2)
                epochs = [first.epoch, second.epoch, third.epoch]
                #expect(RunDirectory(path: directory.path).probe(.seat(1)).isHeld)
                withExtendedLifetime(second) {}
                withExtendedLifetime(third) {}
            }
            // The second and the third are gone, the first is not. Another test's child has them until it has begun.
            try await until("free seats") {
                (1...2).allSatisfy { !RunDirectory(path: directory.path).probe(.seat($0)).isHeld }
            }
            let next = try Seat.take(in: RunDirectory(path: directory.path))
            #expect(next.number == 1)
            epochs.insert(next.epoch)
            #expect(RunDirectory(path: directory.path).probe(.seat(0)).isHeld)
            withExtendedLifetime(first) {}
        }
        #expect(epochs.count == 4 && epochs.allSatisfy { $0 > 0 })
    }

    @Test func `a session names the process, its start time and the boot`() throws {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        let seat = try Seat.take(in: RunDirectory(path: directory.path))
        let session = seat.session()
        #expect(session.seat == 0 && session.epoch == seat.epoch && session.pid == getpid())
        #expect(session.startTime > 0 && session.startTime == ProcessIdentity.startTime(of: getpid()))
        #expect(session.bootID == ProcessIdentity.bootID && !session.bootID.isEmpty)
    }

    @Test func `the lock file of a seat names its epoch`() throws {
        let directory = try TemporaryDirectory("seats")
        defer { directory.remove() }
        let seat = try Seat.take(in: RunDirectory(path: directory.path))
        let epoch = seat.epoch
        #expect(TextFile.read(RunDirectory(path: directory.path).lock(.seat(0))) == "\(epoch)\n")
        withExtendedLifetime(seat) {}
    }
}
