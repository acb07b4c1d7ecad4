import CZeroMQ
import Glibc
import Host

/// The sockets and descriptors that a loop waits for. Confined to its thread.
final class PollSet {
    final class Entry {
        let number: Int
        let transport: (any MessageTransport)?
        let body: () -> Void
        var isRemoved = false

        init(number: Int, transport: (any MessageTransport)?, body: @escaping () -> Void) {
            self.number = number
            self.transport = transport
            self.body = body
        }
    }

    var tick: PollLoop.Tick?
    private var entries: [Entry] = []
    /// The wake-up descriptor, then one for each entry.
    private var descriptors: [pollfd]
    private var lastNumber = 0

    init(wakeDescriptor: CInt) {
        descriptors = [pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)]
    }

    func add(descriptor: CInt, transport: (any MessageTransport)?, body: @escaping () -> Void) -> Registration {
        lastNumber += 1
        entries.append(Entry(number: lastNumber, transport: transport, body: body))
        descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        return Registration(number: lastNumber)
    }

    func remove(where matches: (Entry) -> Bool) {
        while let index = entries.firstIndex(where: matches) {
            entries[index].isRemoved = true
            entries.remove(at: index)
            descriptors.remove(at: index + 1)
        }
    }

    func removeAll() {
        remove { _ in true }
        tick = nil
    }

    var anyMayBeReadable: Bool {
        entries.contains { $0.transport?.mayBeReadable == true }
    }

    /// Waits until a descriptor is readable.
    ///
    /// - Parameter timeout: nil: no limit.
    /// - Returns: whether an entry may have to be served.
    func wait(_ timeout: Duration?) -> Bool {
        let count: CInt
        if let nanoseconds = timeout?.nanoseconds {
            var timeout = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            count = ppoll(&descriptors, nfds_t(descriptors.count), &timeout, nil)
        } else {
            count = ppoll(&descriptors, nfds_t(descriptors.count), nil, nil)
        }
        if count <= 0 {
            // Interrupted or timed out: the array has the events of an earlier round.
            for index in descriptors.indices { descriptors[index].revents = 0 }
        } else if descriptors[0].revents != 0 {
            var ignored: eventfd_t = 0
            eventfd_read(descriptors[0].fd, &ignored)
        }
        return count > 0 || anyMayBeReadable
    }

    /// Calls the bodies of the readable entries, each once. They may add and remove entries meanwhile.
    func serve(loop name: String) {
        let events = descriptors
        for (index, entry) in entries.enumerated() where !entry.isRemoved {
            let revents = events[index + 1].revents
            if revents & Int16(POLLNVAL) != 0 {
                fatalError(
                    "descriptor \(events[index + 1].fd) was closed while registered with loop \(name): remove it first")
            }
            if revents != 0 || entry.transport?.mayBeReadable == true { entry.body() }
        }
    }
}

/// Names an entry of a loop: returned by `PollLoop.whenReadable`, taken by `PollLoop.remove`.
package struct Registration: Hashable, Sendable {
    let number: Int
}
