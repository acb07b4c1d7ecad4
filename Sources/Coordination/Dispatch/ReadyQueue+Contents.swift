package import Commands
internal import HeapModule
internal import Store

/// Inserting and removing commands. Sub-queues and groups are made when they are needed, and their indices
/// are used again.
extension ReadyQueue {
    /// - Returns: where the window is full, the command that stays out: this one, or the last of its
    ///   destination and quality that it displaced. The store must be asked for it again later. Nil where
    ///   both are in.
    package mutating func insert(_ command: ReadyCommand) -> ReadyCommand? {
        if let number = subQueues[command.id] {
            guard contents[number].subQueue.qos < command.qos else { return nil }
            // Its quality of service was raised.
            remove(command.id)
        }
        let key = ReadyKey(command)
        let entry = Entry(command: command, order: order(of: command))
        var out: ReadyCommand?
        if count(of: key) >= limit {
            guard let last = last(of: key), isFirst(entry, before: last) else { return command }
            remove(last.command.id)
            out = last.command
        }
        let number = subQueueNumber(of: SubQueue(command))
        contents[number].heaps[command.id.shard(of: shardCount)].insert(entry)
        contents[number].count += 1
        subQueues[command.id] = number
        keyCounts.count(key, by: 1)
        classCounts[command.qos.serviceClass.rawValue] += 1
        changed.insert(command.destination)
        if command.suspect { suspects += 1 }
        return out
    }

    /// Of one shard, the turn is the order.
    private func isFirst(_ entry: Entry, before other: Entry) -> Bool {
        entry.command.id.shard(of: shardCount) == other.command.id.shard(of: shardCount)
            ? entry < other : entry.precedes(other)
    }

    private func last(of key: ReadyKey) -> Entry? {
        let group = Group(destination: key.destination, serviceClass: key.qos.serviceClass)
        guard let number = groupNumbers[group] else { return nil }
        return groups[number].subQueues.filter { contents[$0].subQueue.key == key }
            .flatMap { contents[$0].heaps.compactMap(\.max) }.max { $0.precedes($1) }
    }

    /// Removes a command that is known not to be ready any more.
    package mutating func remove(_ id: CommandID) {
        guard let number = subQueues[id] else { return }
        let shard = id.shard(of: shardCount)
        guard let entry = contents[number].heaps[shard].unordered.first(where: { $0.command.id == id }) else { return }
        contents[number].heaps[shard] = Heap(contents[number].heaps[shard].unordered.filter { $0.command.id != id })
        forget(entry.command, in: number)
    }

    /// Removes all commands of these shards, in one pass.
    package mutating func remove(shards: Set<Int>) {
        for number in contents.indices where contents[number].count > 0 {
            for shard in shards {
                for entry in contents[number].heaps[shard].unordered { forget(entry.command, in: number) }
                contents[number].heaps[shard] = Heap()
            }
        }
    }

    /// The command is not in the heap of its sub-queue any more.
    mutating func forget(_ command: ReadyCommand, in number: Int) {
        subQueues[command.id] = nil
        if command.suspect { suspects -= 1 }
        keyCounts.count(ReadyKey(command), by: -1)
        classCounts[command.qos.serviceClass.rawValue] -= 1
        changed.insert(command.destination)
        contents[number].count -= 1
        if contents[number].count == 0 { freeSubQueue(number) }
    }

    // MARK: Indices

    private mutating func subQueueNumber(of subQueue: SubQueue) -> Int {
        if let number = subQueueNumbers[subQueue] { return number }
        let group = groupNumber(of: Group(destination: subQueue.destination, serviceClass: subQueue.qos.serviceClass))
        let number = freeSubQueues.popLast() ?? contents.count
        if number < contents.count {
            // Its heaps are empty.
            contents[number].subQueue = subQueue
            contents[number].group = group
        } else {
            contents.append(
                SubQueueState(subQueue: subQueue, group: group, heaps: Array(repeating: Heap(), count: shardCount)))
        }
        subQueueNumbers[subQueue] = number
        groups[group].subQueues.append(number)
        // Admission may have refused the others for a reason that does not hold for this one.
        if groups[group].ticket == 0 { enqueue(group, held: 0) }
        return number
    }

    private mutating func groupNumber(of group: Group) -> Int {
        if let number = groupNumbers[group] { return number }
        let number = freeGroups.popLast() ?? groups.count
        if number < groups.count { groups[number].group = group } else { groups.append(GroupState(group: group)) }
        groupNumbers[group] = number
        return number
    }

    private mutating func freeSubQueue(_ number: Int) {
        let group = contents[number].group
        subQueueNumbers[contents[number].subQueue] = nil
        freeSubQueues.append(number)
        groups[group].subQueues.removeAll { $0 == number }
        guard groups[group].subQueues.isEmpty else { return }
        park(group)
        groupNumbers[groups[group].group] = nil
        freeGroups.append(group)
    }
}
