internal import Commands
internal import Console
internal import Host
internal import Store

extension WaitExplainer {
    /// The command names a rate limit that does not exist.
    func missingLimit(_ command: Command) throws(StoreError) -> WaitReason? {
        guard let name = command.limit, try limit(name) == nil else { return nil }
        return WaitReason(
            "rate", "the rate limit “\(name)” does not exist", threshold: "one of that name",
            remedy: "“sluice limit set \(name) --starts RATE” makes it, and the command then takes its turn",
            values: .object([.init("limit", .string(name))]))
    }

    /// The rate limit of the command, with the commands that wait for it.
    func rate(_ command: Command) throws(StoreError) -> WaitReason? {
        guard let name = command.limit, let limit = try limit(name) else { return nil }
        let waiting = try store.mapShards(or: 0) { shard throws(StoreError) in
            try store.readyCounts(shard: shard)[name] ?? 0
        }.reduce(0, +)
        let running = try store.claimed().joined().count { $0.limit == name }
        let values = JSONValue.object([
            .init("limit", .string(name)), .init("starts", .string(limit.starts.description)),
            .init("waiting", .integer(Int64(waiting))), .init("running", .integer(Int64(running))),
        ])
        if let atOnce = limit.atOnce, running >= atOnce {
            return WaitReason(
                "rate", "limit “\(name)” lets \(atOnce) run at once, and \(running) \(running == 1 ? "runs" : "run")",
                threshold: "fewer than \(atOnce)", remedy: "It begins when one of those ends and its turn comes",
                values: values)
        }
        let others = max(waiting - 1, 0)
        let starts = limit.starts
        let left = Duration.seconds(
            Double(waiting) / Double(starts.count) * starts.period.duration.seconds)
        return WaitReason(
            "rate",
            "limit “\(name)” starts \(starts.count) in a \(starts.period), and \(others) "
                + "\(others == 1 ? "other waits" : "others wait") for it",
            threshold: "a token",
            remedy: limit.atOnce == nil
                ? "At this rate all of them have started in \(left.shortText)"
                : "It begins when its turn comes, and fewer than \(limit.atOnce ?? 0) run", values: values)
    }

    private func limit(_ name: String) throws(StoreError) -> RateLimit? {
        RateLimit.parse(try store.settingsIfUsable(prefix: SettingKey.limit(name)))[name]
    }
}
