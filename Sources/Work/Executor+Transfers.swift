internal import Commands
internal import Store
internal import Wire

/// What has moved.
extension Executor {
    /// Calls `body`, on any thread, with what has moved since the last call: bytes by destination, and the transfers that
    /// have got on. Their offsets ride along with the next commits.
    /// - Parameter elapsed: seconds since then.
    func takeTransfers(elapsed: Double, _ body: @escaping @Sendable (Transfers) -> Void) {
        change { [self] state in
            let (transfers, offsets) = state.takeTransfers(elapsed: elapsed)
            for write in offsets { committers[write.id.shard(of: committers.count)].ride(write) }
            body(transfers)
        }
    }
}

extension Executor.State {
    fileprivate mutating func takeTransfers(elapsed: Double) -> (Transfers, [ExecutionWrite]) {
        var links: [Destination: Transfers.Link] = [:]
        var transfers: [Transfers.Transfer] = []
        var offsets: [ExecutionWrite] = []
        func rate(_ bytes: Int64) -> Int64 { Int64(Double(bytes) / elapsed) }
        // What has ended since the last call counts too: the last bytes of a transfer belong to its link.
        for (destination, tally) in tallies where tally.ended != tally.reported {
            links[destination] = Transfers.Link(
                destination: destination, direction: .up, bytes: tally.ended, rate: 0, inFlight: 0)
        }
        for (id, running) in running {
            let reading = running.meter.reading
            let before = running.reported
            guard reading.bytes > 0 || reading.offset > 0 else { continue }
            let destination = running.command.destination
            var link =
                links[destination]
                ?? Transfers.Link(
                    destination: destination, direction: .up, bytes: tallies[destination]?.ended ?? 0, rate: 0,
                    inFlight: 0)
            link.bytes += reading.bytes
            link.inFlight += 1
            links[destination] = link
            guard reading != before else { continue }
            running.reported = reading
            let claim = running.command.claim
            transfers.append(
                .init(
                    id: id, claim: claim, offset: reading.offset, total: reading.total,
                    rate: rate(reading.bytes - before.bytes)))
            if reading.offset != before.offset {
                offsets.append(.offset(id, claim: claim, offset: reading.offset, total: reading.total))
            }
        }
        for (destination, link) in links {
            links[destination]?.rate = rate(link.bytes - (tallies[destination]?.reported ?? 0))
            tallies[destination, default: .init()].reported = link.bytes
        }
        return (Transfers(links: Array(links.values), transfers: transfers), offsets)
    }
}
