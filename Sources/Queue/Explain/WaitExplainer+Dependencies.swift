internal import Commands
internal import Console
internal import Store

extension WaitExplainer {
    /// Parents that are named.
    private static let maxNamed = 3
    /// Commands of a chain that are followed.
    private static let maxSteps = 100

    /// Why a blocked command waits: the commands that it depends on, or the nodes of a flow that have not ended.
    func blocked(_ command: Command) throws(StoreError) -> [WaitReason] {
        try waitReasons(ofBlocked: command) + held(by: namedBlockers(of: command))
    }

    private func waitReasons(ofBlocked command: Command) throws(StoreError) -> [WaitReason] {
        let order = try order(command)
        if let flow = try store.flow(command.id) { return (order.map { [$0] } ?? []) + [try nodes(of: flow)] }
        if let batch = try store.batch(command.id) { return [members(of: batch)] }
        if let order, try store.dependencies(of: command.id, limit: 0)?.open ?? 0 == 0 { return [order] }
        guard let waits = try store.dependencies(of: command.id, limit: 20) else {
            return [
                WaitReason(
                    "dependencies", "it waits for commands that it depends on", threshold: "their ends",
                    remedy: "It is ready then")
            ]
        }
        if waits.open == 0, let id = waits.flow, let flow = try store.command(id), let order = try self.order(flow) {
            return [order]
        }
        var reasons = (order.map { [$0] } ?? []) + [dependencies(waits)]
        for parent in waits.parents where parent.command.status == .inDoubt {
            let id = parent.command.id
            reasons.append(
                WaitReason(
                    "doubt", "\(Self.name(parent)) is in doubt: it may have been delivered, or not",
                    threshold: "a person's decision",
                    remedy: "“sluice resolve \(id) --success” lets this one go on, --cancel ends it too"))
        }
        return reasons
    }

    // MARK: One step on

    /// The commands that a blocked one waits for: the holder of its ordering key, or else its parents.
    private func blockers(of command: Command) throws(StoreError) -> [(name: String, command: Command)] {
        if let place = try store.orderingKey(of: command.id), place.ahead != nil {
            return place.holder.map { [("“\($0.id)”", $0)] } ?? []
        }
        guard let waits = try store.dependencies(of: command.id, limit: Self.maxNamed) else { return [] }
        if waits.open == 0, let id = waits.flow, let flow = try store.command(id) { return try blockers(of: flow) }
        return waits.parents.map { (Self.name($0), $0.command) }
    }

    /// The first commands that a blocked one waits for, and how a reason names them. Of a chain of commands that wait for each
    /// other it is the last, which does not wait for another: this is the one that a person can help.
    func namedBlockers(of command: Command) throws(StoreError) -> [(name: String, command: Command)] {
        var named: [(name: String, command: Command)] = []
        for blocker in try blockers(of: command).prefix(Self.maxNamed) {
            var (last, name) = (blocker.command, "\(blocker.name) waits")
            for _ in 0..<Self.maxSteps where last.status == .blocked {
                guard let next = try self.blockers(of: last).first else { break }
                (last, name) = (next.command, "\(blocker.name) waits in the end for \(next.name), which waits")
            }
            if !named.contains(where: { $0.command.id == last.id }) { named.append((name, last)) }
        }
        return named
    }

    /// Why these do not run themselves.
    private func held(by blockers: [(name: String, command: Command)]) throws(StoreError) -> [WaitReason] {
        var reasons: [WaitReason] = []
        for (name, command) in blockers {
            let own: [WaitReason]
            switch command.status {
            case .new, .error: own = try self.reasons(of: command).filter { !$0.isThrottle }
            // A flow or a batch.
            case .blocked: own = try waitReasons(ofBlocked: command)
            case .queued, .sent, .success, .cancelled, .inDoubt, .tooManyTimes: own = []
            }
            for var reason in own.prefix(2) {
                reason.measured = "\(name): \(reason.measured)"
                reasons.append(reason)
            }
        }
        return reasons
    }

    /// The ordering key that a command, or the flow of a node, waits for.
    private func order(_ command: Command) throws(StoreError) -> WaitReason? {
        guard let place = try store.orderingKey(of: command.id), let ahead = place.ahead else { return nil }
        let before = ahead == 0 ? "it is the next" : "\(ahead) \(ahead == 1 ? "waits" : "wait") before it"
        let holder = place.holder.map { "\($0.id), \(state(of: $0))" } ?? "another command"
        let held =
            place.limit == 1
            ? "is held by \(holder)" : "is held by \(place.open) commands, the newest \(holder)"
        let advice = place.holder.map { holder in
            switch holder.status {
            case .error:
                ". “sluice retry \(holder.id)” runs that now, “sluice cancel \(holder.id)” lets the next one go"
            case .tooManyTimes:
                ". It was given up and holds the key: “sluice retry \(holder.id)” runs it again, “sluice cancel "
                    + "\(holder.id)” lets the next one go"
            case .inDoubt: ". “sluice resolve \(holder.id)” with --success, --retry or --cancel decides"
            default: ""
            }
        }
        return WaitReason(
            "order", "its ordering key “\(place.key)” \(held); \(before)", threshold: "its turn",
            remedy: "It is ready when those before it have ended, in whatever way\(advice ?? "")",
            values: .object([
                .init("key", .string(place.key)), .init("limit", .integer(Int64(place.limit))),
                .init("open", .integer(Int64(place.open))), .init("ahead", .integer(Int64(ahead))),
                .init("holder", place.holder.map { .string($0.id.description) } ?? .null),
            ]))
    }

    private func dependencies(_ waits: CommandDependencies) -> WaitReason {
        let named = waits.parents.prefix(Self.maxNamed).map { parent in
            "\(Self.name(parent)) (\(state(of: parent.command))\(Self.needed(parent.condition)))"
        }
        let more = waits.open > named.count ? " and \(waits.open - named.count) more" : ""
        let flow = waits.flow.map { " of the flow \($0)" } ?? ""
        let count = waits.count == 1 ? "" : "\(waits.open) of \(waits.count): "
        let conditions = Set(waits.parents.map(\.condition))
        let (threshold, remedy): (String, String) =
            conditions == [.success]
            ? ("success of each", "It is ready when they have succeeded, and cancelled when one of them is given up")
            : conditions == [.end]
                ? ("an end of each", "It is ready when they have ended, in whatever way")
                : (
                    "the end of each that it waits for",
                    "It is ready then, and cancelled when one of them ends otherwise"
                )
        return WaitReason(
            "dependencies", "it waits for \(count)\(named.joined(separator: ", "))\(more)\(flow)", threshold: threshold,
            remedy: remedy,
            values: .object([
                .init("count", .integer(Int64(waits.count))), .init("open", .integer(Int64(waits.open))),
                .init("flow", waits.flow.map { .string($0.description) } ?? .null),
                .init(
                    "parents",
                    .array(
                        waits.parents.map { parent in
                            .object([
                                .init("id", .string(parent.command.id.description)),
                                .init("name", parent.name.map { .string($0) } ?? .null),
                                .init("status", .string(parent.command.status.name)),
                                .init("condition", .string(parent.condition.name)),
                            ])
                        })),
            ]))
    }

    private func nodes(of flow: FlowState) throws(StoreError) -> WaitReason {
        var running: [String] = []
        var position: Int64 = 0
        // A flow with many nodes is not read as a whole.
        for _ in 0..<10 where running.count < Self.maxNamed {
            let page = try store.flowNodes(flow.command.id, after: position, limit: 1000)
            guard let last = page.last else { break }
            position = last.position
            for node in page where running.count < Self.maxNamed {
                guard let name = node.name, !node.command.status.isFinal || node.command.status == .inDoubt,
                    node.command.status != .blocked
                else { continue }
                running.append("“\(name)” (\(state(of: node.command)))")
            }
        }
        let failed = flow.failed > 0 ? "; \(flow.failed) failed" : ""
        let examples = running.isEmpty ? "" : ", among them \(running.joined(separator: ", "))"
        return WaitReason(
            "flow", "\(flow.open) of its \(flow.nodes) nodes have not ended\(examples)\(failed)",
            threshold: "the end of every node",
            remedy: "“sluice flow \(flow.command.id)” shows them, and “sluice explain” of a node why it waits",
            values: .object([
                .init("nodes", .integer(Int64(flow.nodes))), .init("open", .integer(Int64(flow.open))),
                .init("failed", .integer(Int64(flow.failed))),
            ]))
    }

    private func members(of batch: BatchState) -> WaitReason {
        let failed = batch.failed > 0 ? "; \(batch.failed) failed" : ""
        let values = JSONValue.object([
            .init("members", .integer(Int64(batch.members))), .init("open", .integer(Int64(batch.open))),
            .init("failed", .integer(Int64(batch.failed))), .init("sealed", .bool(batch.isSealed)),
        ])
        let id = batch.command.id
        guard batch.isSealed else {
            return WaitReason(
                "batch",
                "it is not sealed: its producer may still add members; \(batch.members - batch.open) of \(batch.members) "
                    + "have ended\(failed)", threshold: "the seal, and the end of every member",
                remedy: "“sluice batch seal \(id)” lets no more members in, “sluice cancel \(id)” cancels them",
                values: values)
        }
        return WaitReason(
            "batch", "\(batch.open) of its \(batch.members) members have not ended\(failed)",
            threshold: "the end of every member", remedy: "“sluice list --batch \(id)” lists them", values: values)
    }

    private static func name(_ parent: CommandDependencies.Parent) -> String {
        "“\(parent.name ?? parent.command.id.description)”"
    }

    private static func needed(_ condition: DependencyCondition) -> String {
        switch condition {
        case .success: ""
        case .failure: ", its failure is needed"
        case .end: ", any end of it is enough"
        }
    }

    private func state(of command: Command) -> String {
        guard command.status == .error else { return command.status.word }
        let wait = command.notBefore > now ? " in \((command.notBefore - now).shortText)" : ""
        return "error, retry \(command.retries) of \(command.retryLimit)\(wait)"
    }
}
