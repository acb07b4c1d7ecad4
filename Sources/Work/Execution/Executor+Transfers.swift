internal import Commands
internal import Operations
internal import Store
internal import Wire

/// Reports of the transfers.
extension Executor {
    /// Calls `body`, on any thread, with the transfers that run, and the bytes that have moved by link.
    /// Offsets that have changed go along with the next commits.
    /// - Parameter elapsed: since the last call.
    func takeTransfers(elapsed: Duration, _ body: @escaping @Sendable (TransferReport) -> Void) {
        change { [self] state in
            let (transfers, offsets) = state.takeTransfers(seconds: elapsed.seconds)
            for write in offsets { committers[write.id].addToNextCommit(write, of: write.id) }
            body(transfers)
        }
    }
}

extension Executor.State {
    fileprivate mutating func takeTransfers(seconds: Double) -> (TransferReport, [ExecutionWrite]) {
        forgetQuietLinks()
        var links: [TransferReport.Link] = []
        var indices: [LinkName: Int] = [:]
        var roundTrips: [[Duration]] = []
        func index(of link: LinkName) -> Int {
            if let index = indices[link] { return index }
            let bytes = (totals[link] ?? LinkTotals()).ended
            links.append(TransferReport.Link(destination: link.destination, direction: link.direction, bytes: bytes))
            roundTrips.append([])
            indices[link] = links.count - 1
            return links.count - 1
        }
        // Executions that have ended since the last call count too: their last bytes belong to their link.
        for (link, total) in totals where total.quietReports < LinkTotals.repeats { _ = index(of: link) }

        var transfers: [TransferReport.Transfer] = []
        var offsets: [ExecutionWrite] = []
        for execution in slots.held.begun {
            let (reading, before) = execution.meter.take()
            let command = execution.command
            // A command without a destination that moves nothing is not a transfer.
            guard command.destination != .none || reading.bytes > 0 || reading.offset > 0 else { continue }
            let link = index(of: LinkName(destination: command.destination, direction: reading.direction))
            links[link].bytes[command.qos.serviceClass.rawValue] += reading.bytes
            linkMeter.resent(
                reading.resent(since: before),
                by: LinkName(destination: command.destination, direction: reading.direction))
            links[link].inFlight += 1
            if let roundTrip = reading.connection.roundTrip { roundTrips[link].append(roundTrip) }
            let rate = Int64(Double(max(reading.bytes - before.bytes, 0)) / seconds)
            let isAwaitingResponse = reading.isAwaitingResponse(since: before)
            let hasMoved =
                rate > 0 || reading.offset != before.offset || reading.verified != before.verified || isAwaitingResponse
            var transfer = execution.transfer(link: link, reading, rate: rate, hasMoved: hasMoved)
            transfer.isAwaitingResponse = isAwaitingResponse
            transfers.append(transfer)
            if reading.offset != before.offset {
                offsets.append(
                    .offset(command.id, claim: command.claim, offset: reading.offset, total: reading.total))
            }
        }
        for (index, link) in links.enumerated() {
            let name = LinkName(destination: link.destination, direction: link.direction)
            var total = totals[name] ?? LinkTotals()
            let bytes = link.allBytes
            links[index].rate = Int64(Double(max(bytes - total.reported, 0)) / seconds)
            links[index].roundTrip = roundTrips[index].sorted().middle
            total.quietReports = bytes == total.reported && link.inFlight == 0 ? total.quietReports + 1 : 0
            total.reported = bytes
            linkMeter.carried(total.takeNew(links[index].bytes), by: name)
            totals[name] = total
        }
        return (TransferReport(links: links, transfers: transfers), offsets)
    }

    /// Every ten minutes. A link that comes back is counted from 0, which the coordinator takes for a new
    /// beginning.
    private mutating func forgetQuietLinks() {
        rounds += 1
        guard rounds.isMultiple(of: LinkTotals.memory) else { return }
        totals = totals.filter { $0.value.quietReports < LinkTotals.repeats }
    }
}

extension CommandExecution {
    fileprivate func transfer(
        link: Int, _ reading: TransferMeter.Reading, rate: Int64, hasMoved: Bool
    ) -> TransferReport.Transfer {
        var transfer = TransferReport.Transfer(id: command.id, claim: command.claim, link: link, qos: command.qos)
        transfer.pacing = pace.bytesPerSecond == 0 ? .paused : reading.waited ? .throttled : .free
        transfer.isResumable = reading.isResumable
        transfer.isIdempotent = command.idempotent
        transfer.hasMoved = hasMoved
        transfer.isVerifying = reading.verified != nil
        transfer.offset = reading.verified ?? reading.offset
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
