internal import Commands
internal import Host
internal import Store
internal import Work

/// The sweeps and offers of the thin dispatcher.
extension World {
    /// Makes commands ready, carries messages, and offers what may run.
    /// - Returns: when the next command is due.
    func sweep() -> Duration? {
        let wall = store.clock.now()
        var due: [Timestamp] = []
        for shard in 0..<store.shardCount {
            if let next = (try? store.promoteDue(shard: shard, limit: 100))?.next { due.append(next) }
            if let expiry = try? store.expire(shard: shard, limit: 100) {
                tell(expiry.effects.requests)
                if let next = expiry.next { due.append(next) }
            }
            if let effects = try? store.settle(shard: shard, limit: 10) { tell(effects.requests) }
            if let round = try? store.carryMessages(from: shard, except: []) { tell(round.effects.requests) }
            tell((try? store.cancellationRequests(shard: shard)) ?? [])
        }
        auditShards()
        rounds += 1
        if rounds % 50 == 0 { ledger.auditAll(isSettled: false) }
        dispatch()
        guard let next = due.min() else { return nil }
        return now + (next - wall)
    }

    private func dispatch() {
        var ready: [ReadyCommand] = []
        for shard in 0..<store.shardCount {
            _ = try? store.takeReadyAgain(shard: shard, limit: 1000)
            for key in (try? store.readyKeys(shard: shard)) ?? [] {
                ready += (try? store.ready(shard: shard, key: key, afterTurn: 0, limit: 20)) ?? []
            }
        }
        ready.sort { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        for command in ready where holds[command.id].map({ $0.until <= now }) ?? true {
            let holders = workers.filter { $0.offered.contains(command.id) }
            guard holders.isEmpty || random.chance(plan.rate(.doubledOffer)) else { continue }
            let free = workers.filter { $0.offered.count < 3 && !$0.offered.contains(command.id) }
            if let worker = random.pick(free) { offer(command, to: worker) }
        }
        guard random.chance(plan.rate(.doubledOffer)) else { return }
        repeatOffer()
    }

    /// An old offer arrives again: its command may be claimed or have ended.
    private func repeatOffer() {
        let claimed = (0..<store.shardCount).flatMap { (try? store.claimed(shard: $0)) ?? [] }
        guard let old = random.pick(claimed), let row = store.command(old.id),
            let worker = random.pick(workers.filter { !$0.offered.contains(old.id) && $0.process.epoch != old.epoch })
        else { return }
        let offer = ReadyCommand(
            id: row.id, type: row.type, qos: row.qos, destination: row.destination, turn: row.turn,
            createdAt: row.createdAt)
        ledger.count("repeated offers")
        self.offer(offer, to: worker)
    }

    private func offer(_ command: ReadyCommand, to worker: SimulatedWorker) {
        worker.offered.insert(command.id)
        let (inbox, local, process) = (inbox, worker.local, worker.process.number)
        Task.detached {
            let (reports, effects) = await local.execute(command)
            inbox.put(.init(process: process, id: command.id, reports: reports, requests: effects.requests))
        }
    }
}
