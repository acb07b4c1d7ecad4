internal import Commands
internal import Store
internal import Wire

/// What moves.
extension Executor {
    /// Calls `body`, on any thread, with what has moved since the last call: bytes by destination, and the transfers that
    /// run. Their offsets ride along with the next commits.
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
        forgetQuietLinks()
        var links: [Transfers.Link] = []
        var slots: [LinkName: Int] = [:]
        var roundTrips: [[Duration]] = []
        func slot(of link: LinkName) -> Int {
            if let slot = slots[link] { return slot }
            let tally = tallies[link] ?? LinkTotals()
            links.append(
                Transfers.Link(destination: link.destination, direction: link.direction, bytes: tally.ended))
            roundTrips.append([])
            slots[link] = links.count - 1
            return links.count - 1
        }
        // What has ended since the last call counts too: the last bytes of a transfer belong to its link.
        for (link, tally) in tallies where tally.quietReports < LinkTotals.repeats { _ = slot(of: link) }

        var transfers: [Transfers.Transfer] = []
        var offsets: [ExecutionWrite] = []
        for (id, running) in running where running.task != nil {
            let reading = running.meter.take()
            let before = running.reported
            running.reported = reading
            let command = running.command
            // What talks to nobody and moves nothing is no transfer.
            guard command.destination != .none || reading.bytes > 0 || reading.offset > 0 else { continue }
            let link = slot(of: LinkName(destination: command.destination, direction: reading.direction))
            links[link].bytes[command.qos.serviceClass.rawValue] += reading.bytes
            links[link].inFlight += 1
            if let roundTrip = reading.connection.roundTrip { roundTrips[link].append(roundTrip) }
            let rate = Int64(Double(max(reading.bytes - before.bytes, 0)) / elapsed)
            let hasMoved = rate > 0 || reading.offset != before.offset
            transfers.append(running.transfer(link: link, reading, rate: rate, hasMoved: hasMoved))
            if reading.offset != before.offset {
                offsets.append(.offset(id, claim: command.claim, offset: reading.offset, total: reading.total))
            }
        }
        for (index, link) in links.enumerated() {
            let name = LinkName(destination: link.destination, direction: link.direction)
            var tally = tallies[name] ?? LinkTotals()
            let bytes = link.allBytes
            links[index].rate = Int64(Double(max(bytes - tally.reported, 0)) / elapsed)
            links[index].roundTrip = roundTrips[index].sorted().middle
            tally.quietReports = bytes == tally.reported && link.inFlight == 0 ? tally.quietReports + 1 : 0
            tally.reported = bytes
            tallies[name] = tally
        }
        return (Transfers(links: links, transfers: transfers), offsets)
    }
}

extension Executor.State {
    /// Every ten minutes. Who comes back is counted from 0, which the coordinator takes for a new beginning.
    private mutating func forgetQuietLinks() {
        rounds += 1
        guard rounds.isMultiple(of: LinkTotals.memory) else { return }
        tallies = tallies.filter { $0.value.quietReports < LinkTotals.repeats }
    }
}

extension Running {
    fileprivate func transfer(
        link: Int, _ reading: TransferMeter.Reading, rate: Int64, hasMoved: Bool
    ) -> Transfers.Transfer {
        var transfer = Transfers.Transfer(id: command.id, claim: command.claim, link: link, qos: command.qos)
        transfer.pacing = pace.bytesPerSecond == 0 ? .paused : reading.waited ? .throttled : .free
        transfer.isResumable = reading.isResumable
        transfer.isIdempotent = command.idempotent
        transfer.hasMoved = hasMoved
        transfer.offset = reading.offset
        transfer.total = reading.total
        transfer.rate = rate
        transfer.acknowledged = reading.bytes
        transfer.retransmitted = reading.connection.retransmitted
        transfer.roundTrip = reading.connection.roundTrip
        transfer.minRoundTrip = reading.connection.minRoundTrip
        transfer.firstByte = reading.connection.firstByte
        transfer.isWindowClosed = reading.connection.isWindowClosed
        return transfer
    }
}

extension [Duration] {
    fileprivate var middle: Duration? { isEmpty ? nil : self[count / 2] }
}
