import Commands
import Store
import TestSupport
import Testing

/// A store of one shard, in which a test submits flows and ends their nodes by name.
final class FlowRig {
    let subject: StoreUnderTest
    private(set) var ids: [String: CommandID] = [:]
    private(set) var flow = CommandID(high: 0, low: 0)
    var store: any CommandStore { subject.store }

    init(_ kind: StoreKind) throws {
        subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.open()
    }

    /// - Parameter subject: has one shard.
    init(_ subject: StoreUnderTest) { self.subject = subject }

    /// Submits a flow. A node is “name” or “name < parent, other:condition”; a name that ends in “?” may fail.
    @discardableResult
    func submit(
        _ lines: String..., callbacks: [DependencyCondition] = [], _ change: (inout FlowDraft) -> Void = { _ in }
    ) throws -> FlowSubmission {
        var draft = FlowDraft("test", nodes: lines.map(Self.node))
        draft.callbacks = callbacks.map { .init(on: $0, .noop) }
        change(&draft)
        return try submit(draft)
    }

    @discardableResult
    func submit(_ draft: FlowDraft) throws -> FlowSubmission {
        let plan = try FlowPlan(draft)
        let submission = try store.submit(plan, allowUnknownTypes: false, now: .base)
        guard !submission.submission.isExisting else { return submission }
        flow = submission.submission.id
        // The turns follow the plan.
        let first = submission.submission.turn
        let names = [nil] + plan.nodes.map(\.name) + draft.callbacks.map { "then \($0.condition.name)" }
        for command in try all() where command.turn >= first {
            if let name = names[Int(command.turn - first)] { ids[name] = command.id }
        }
        return submission
    }

    private static func node(_ line: String) -> FlowNode {
        let parts = line.split(separator: "<").map { $0.trimmingPrefix(while: { $0 == " " }) }
        let name = parts[0].filter { $0 != " " && $0 != "?" }
        var after: [String: DependencyCondition] = [:]
        for parent in parts.dropFirst().joined().split(separator: ",") {
            let pair = parent.filter { $0 != " " }.split(separator: ":")
            after[String(pair[0])] = pair.count > 1 ? DependencyCondition(name: String(pair[1])) : .success
        }
        return FlowNode(name, .noop, after: after, mayFail: parts[0].contains("?"))
    }

    func all() throws -> [Command] {
        var found: [Command] = []
        var after: CommandID?
        repeat {
            let page = try store.page(CommandFilter(), order: .oldestFirst, after: after, limit: 1000, until: nil)
            found += page.commands
            after = page.next
        } while after != nil
        return found
    }

    subscript(_ name: String) -> CommandID { ids[name] ?? flow }

    func command(_ name: String) throws -> Command { try #require(try store.command(self[name])) }
    func status(_ name: String) throws -> CommandStatus { try command(name).status }
    func flowStatus() throws -> CommandStatus? { try subject.status(flow) }

    @discardableResult
    func claim(_ name: String) throws -> Int? { try subject.claim(self[name]) }

    /// Ends claimed nodes in one commit.
    @discardableResult
    func end(_ names: String..., result: ExecutionResult = .success(result: nil)) throws -> Effects {
        var writes: [ExecutionWrite] = []
        for name in names { writes.append(.end(self[name], claim: try command(name).claim, result)) }
        let outcome = try store.apply(
            writes, shard: 0, seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, now: .base + .seconds(2),
            timeout: .seconds(1))
        for each in outcome { guard case .done = each else { throw Missed("an end was not done: \(each)") } }
        return outcome.effects
    }

    /// Claims and ends nodes.
    @discardableResult
    func succeed(_ names: String...) throws -> Effects {
        var effects = Effects()
        for name in names {
            guard try claim(name) != nil else { throw Missed("“\(name)” cannot be claimed") }
            effects.append(try end(name))
        }
        return effects
    }

    @discardableResult
    func fail(_ name: String) throws -> Effects {
        guard try claim(name) != nil else { throw Missed("“\(name)” cannot be claimed") }
        return try end(name, result: .failure(CommandFailure(.final, reason: "HTTP 404")))
    }

    /// Names of ready commands.
    func names(_ effects: Effects) -> Set<String> {
        Set(effects.ready.compactMap { ready in ids.first { $0.value == ready.id }?.key })
    }

    /// Writes what is still to be written, and compares the stored numbers with the rows.
    func check(limit: Int = 1000) throws {
        while try store.settle(shard: 0, now: .base + .seconds(3), limit: limit).hasMore {}
        let problems = try store.relationProblems(shard: 0)
        guard problems.isEmpty else { throw Missed("\(problems)") }
        #expect(try subject.countsAreTrue())
    }
}
