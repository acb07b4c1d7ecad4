package import Commands
package import Host

/// The reports of workers.
extension NetworkController {
    /// A worker that is silent for this time counts for nothing, and is forgotten after ten times that.
    static let workerTimeout: Duration = .seconds(1)

    /// Takes in a worker's report, which replaces its last one.
    /// - Parameters:
    ///   - worker: its epoch.
    ///   - samples: of all transfers that it runs.
    ///   - counters: of all links that it has used since it started.
    package mutating func report(
        worker: Int64, transfers samples: [TransferSample], counters: [LinkCounter], now: MonotonicTime
    ) {
        var record = workers[worker] ?? Worker(reportedAt: now)
        // The first report is a starting point: it does not say over which time its bytes came.
        let isKnown = workers[worker] != nil
        var covered: Set<LinkKey> = []
        for counter in counters {
            let key = LinkKey(counter.destination, counter.direction)
            let counted = CounterKey(link: key, serviceClass: counter.serviceClass)
            covered.insert(key)
            // The first counter of a link is a starting point too: the link was quiet, and these bytes are
            // old. So is a lower one, of a worker that has forgotten a link.
            let before = record.bytes.updateValue(counter.bytes, forKey: counted) ?? counter.bytes
            let gained = counter.bytes - before
            guard gained > 0 else { continue }
            for link in touch(key, now: now) where isKnown {
                links[link]?.intervalBuilder.add(gained, of: counter.serviceClass, worker: worker, now: now)
            }
        }
        var ids: Set<CommandID> = []
        for sample in samples {
            ids.insert(sample.id)
            covered.insert(sample.key)
            _ = touch(sample.key, now: now)
            follow(sample, worker: worker, now: now)
        }
        for link in Set(covered.flatMap { chain($0) }) {
            links[link]?.intervalBuilder.cover(now - record.reportedAt, worker: worker)
        }
        for id in record.ids.subtracting(ids) where transfers[id]?.worker == worker { forget(id) }
        record.reportedAt = now
        record.ids = ids
        workers[worker] = record
    }

    private mutating func follow(_ sample: TransferSample, worker: Int64, now: MonotonicTime) {
        announced[sample.id] = nil
        var transfer = TrackedTransfer(sample, worker: worker, now: now)
        var (gained, resent) = (sample.acknowledged, sample.retransmitted)
        if let known = transfers[sample.id], known.worker == worker {
            transfer = known
            (gained, resent) = transfer.update(sample, now: now)
        }
        transfers[sample.id] = transfer
        let chain = chain(sample.key)
        for key in chain { links[key]?.intervalBuilder.sent(gained, again: resent) }
        guard gained > 0 else { return }
        // Whether a destination can be reached is known of its link up.
        let above = sample.direction == .down ? self.chain(LinkKey(sample.destination, .up)) : []
        for key in above { links[key]?.lastUsed = now }
        for key in chain + above {
            if key.destination != nil, links[key]?.hasAnswered == false {
                links[key]?.hasAnswered = true
                proven.append(sample.destination)
            }
            if links[key]?.circuitBreaker.progressed(gained, now: now) == .closed {
                links[key]?.reopened(now: now)
                proven.append(sample.destination)
            }
        }
    }

    /// Another execution of the command runs: the orders were for the one before.
    package mutating func replaced(_ id: CommandID) { forget(id) }

    /// The worker is dead or has left, with all that it ran.
    package mutating func workerLost(_ worker: Int64) {
        for id in workers[worker]?.ids ?? [] where transfers[id]?.worker == worker { forget(id) }
        workers[worker] = nil
    }

    private mutating func forget(_ id: CommandID) {
        transfers[id] = nil
        orders[id] = nil
    }

    /// Whether the worker has reported its transfers, so that the next decisions count them.
    package func hasReport(of worker: Int64) -> Bool { workers[worker] != nil }

    /// The offset from which another execution of the command goes on, as last reported; 0 where it starts over.
    package func durableOffset(of id: CommandID) -> Int64 {
        guard let sample = transfers[id]?.sample, sample.isResumable else { return 0 }
        return sample.offset
    }

    /// Whether the command is in a worker's reports.
    package func isRunning(_ id: CommandID) -> Bool { transfers[id] != nil }

    /// Sums up the transfers of each link, of workers that are not silent.
    mutating func refreshSnapshots(now: MonotonicTime) {
        snapshots = [:]
        for transfer in transfers.values {
            guard let worker = workers[transfer.worker], now - worker.reportedAt <= Self.workerTimeout else { continue }
            let sample = transfer.sample
            let isAtMaxRate = links[sample.key]?.paceOrigin.isMaxRate(sample.qos, now: now) ?? false
            for key in chain(sample.key) {
                snapshots[key, default: LinkSnapshot()].add(transfer, isAtMaxRate: isAtMaxRate, now: now)
            }
        }
    }
}
