import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct FlowConformance {
    @Test(arguments: StoreKind.current)
    func `a flow runs its nodes in their order, and is a success with the last`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let submission = try rig.submit("a", "b < a", "c < a", "d < b, c", callbacks: [.success, .failure, .end])
        #expect(submission.ready.map(\.id) == [rig["a"]])
        #expect(try rig.flowStatus() == .blocked)
        #expect(try rig.command("flow").type == "flow")
        #expect(try rig.names(rig.succeed("a")) == ["b", "c"])
        #expect(try rig.names(rig.succeed("c")).isEmpty)
        #expect(try rig.names(rig.succeed("b")) == ["d"])
        try rig.check()
        let effects = try rig.succeed("d")
        #expect(rig.names(effects) == ["then success", "then end"])
        #expect(effects.events.first?.transition.id == rig.flow)
        #expect(try rig.flowStatus() == .success && rig.status("then failure") == .cancelled)
        #expect(try rig.command("then failure").reason == "not needed: “\(rig.flow)” succeeded")
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a failure cancels what waits for it, and the rest runs on`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "c < b", "other", callbacks: [.success, .failure])
        try rig.fail("a")
        #expect(try rig.status("b") == .cancelled && rig.status("c") == .cancelled)
        #expect(try rig.command("b").reason == "it waited for “a”, which was given up: HTTP 404")
        #expect(try rig.flowStatus() == .blocked && rig.status("other") == .new)
        let effects = try rig.succeed("other")
        #expect(rig.names(effects) == ["then failure"])
        #expect(try rig.flowStatus() == .tooManyTimes && rig.status("then success") == .cancelled)
        #expect(try rig.command("flow").reason == "3 of 4 nodes failed, “a” first: HTTP 404")
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow keeps its counts and its end where a node that it counted is put away`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "other", "last", callbacks: [.failure])
        try rig.fail("a")
        func putAway() throws {
            guard case .cancelled(let effects) = try rig.store.cancel(rig["a"], reason: "not wanted", now: .base) else {
                Issue.record("it was not put away")
                return
            }
            #expect(effects.events.map(\.transition.id) == [rig["a"]] && effects.ready.isEmpty, "\(effects)")
            #expect(try rig.status("a") == .cancelled)
            try rig.check()
        }
        // While the flow runs, and after its end.
        try putAway()
        #expect(try rig.flowStatus() == .blocked && rig.status("b") == .cancelled)
        try rig.succeed("other")
        #expect(try rig.flowStatus() == .blocked)
        #expect(try rig.names(rig.succeed("last")) == ["then failure"])
        #expect(try rig.flowStatus() == .tooManyTimes)
        let reason = try rig.command("flow").reason
        #expect(reason?.hasPrefix("2 of 4 nodes failed, “a” first") == true, "\(reason ?? "")")
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow that has ended keeps its end where a node is put away`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a")
        try rig.fail("a")
        #expect(try rig.flowStatus() == .tooManyTimes)
        let reason = try rig.command("flow").reason
        _ = try rig.store.cancel(rig["a"], reason: "not wanted", now: .base)
        #expect(try rig.status("a") == .cancelled && rig.flowStatus() == .tooManyTimes)
        #expect(try rig.command("flow").reason == reason)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a node that may fail fails neither its children nor the flow`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a?", "b < a", "handler < a:failure")
        #expect(try rig.names(rig.fail("a")) == ["b", "handler"])
        try rig.succeed("b", "handler")
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a handler that is not needed does not fail the flow`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "handler < a:failure", "after < handler", "cleanup < handler:end")
        try rig.succeed("a")
        #expect(try rig.status("handler") == .cancelled && rig.status("after") == .cancelled)
        #expect(try rig.command("handler").reason == "not needed: “a” succeeded")
        #expect(try rig.names(rig.succeed("cleanup")).isEmpty)
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow that stops on failure cancels the others, and its finalizers run`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b", "c < b", "running", "last < a:end, c:end") { $0.stopsOnFailure = true }
        try rig.claim("running")
        let effects = try rig.fail("a")
        #expect(effects.requests.map(\.id) == [rig["running"]])
        #expect(try rig.status("b") == .cancelled && rig.status("c") == .cancelled)
        #expect(try rig.command("running").cancelRequested)
        #expect(try rig.status("last") == .new && rig.flowStatus() == .blocked)
        try rig.end("running", result: .cancelled(reason: "stopped"))
        try rig.succeed("last")
        #expect(try rig.flowStatus() == .tooManyTimes)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a cancelled flow ends when its running nodes have ended, and starts nothing more`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "c", callbacks: [.success, .end])
        try rig.claim("a")
        let outcome = try rig.store.cancel(rig.flow, reason: "cancelled by a person", now: .base)
        guard case .requested(let effects) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(effects.requests.map(\.id) == [rig["a"]])
        #expect(try rig.status("c") == .cancelled && rig.status("b") == .cancelled && rig.flowStatus() == .blocked)
        // The success wins; what would follow it does not start.
        #expect(try rig.names(rig.end("a")) == ["then end"])
        #expect(try rig.status("a") == .success && rig.flowStatus() == .cancelled)
        #expect(try rig.command("flow").reason == "cancelled by a person")
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the deadline of a flow cancels its nodes`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a") { $0.deadline = .base + .seconds(10) }
        let expiry = try rig.store.expire(shard: 0, now: .base + .seconds(10), limit: 10)
        #expect(expiry.next == nil)
        #expect(try rig.status("a") == .cancelled && rig.status("b") == .cancelled && rig.flowStatus() == .cancelled)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the retry of a node reopens its flow, and the flow succeeds`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "c < b", callbacks: [.success, .failure])
        try rig.fail("a")
        #expect(try rig.flowStatus() == .tooManyTimes && rig.status("then failure") == .new)
        try rig.succeed("then failure")
        _ = try rig.store.retry(rig["a"], now: .base + .seconds(5))
        #expect(try rig.flowStatus() == .blocked && rig.status("b") == .blocked && rig.status("c") == .blocked)
        #expect(try rig.status("then success") == .blocked && rig.status("then failure") == .success)
        try rig.check()
        try rig.succeed("a", "b")
        #expect(try rig.names(rig.succeed("c")) == ["then success"])
        #expect(try rig.flowStatus() == .success)
        // The second callback of a kind does not come.
        #expect(try rig.subject.statuses(rig["then failure"]).filter { $0 == .success }.count == 1)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the retry of a flow retries its failed nodes`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "c", "d", "e < d")
        try rig.fail("a")
        try rig.fail("c")
        _ = try rig.store.cancel(rig["d"], reason: "no", now: .base)
        #expect(try rig.flowStatus() == .tooManyTimes)
        let effects = try #require(try rig.store.retry(rig.flow, now: .base + .seconds(5)))
        #expect(rig.names(effects) == ["a", "c", "d"])
        #expect(try rig.flowStatus() == .blocked && rig.status("b") == .blocked && rig.status("e") == .blocked)
        try rig.check()
        try rig.succeed("a", "b", "c", "d", "e")
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow in doubt waits for a person`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit(
            FlowDraft(
                "f",
                nodes: [
                    FlowNode("a", .noop.with { $0.idempotent = false }), FlowNode("b", .noop, after: ["a": .success]),
                ]))
        try rig.claim("a")
        try rig.end("a", result: .failure(CommandFailure(.command, reason: "cut", ambiguous: true)))
        #expect(try rig.status("a") == .inDoubt && rig.status("b") == .blocked && rig.flowStatus() == .blocked)
        try rig.check()
        _ = try rig.store.resolve(rig["a"], as: .cancelled, now: .base)
        #expect(try rig.status("b") == .cancelled && rig.flowStatus() == .tooManyTimes)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `an empty flow is a success, and its callbacks are decided`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let submission = try rig.submit(callbacks: [.success, .failure, .end])
        #expect(submission.ready.count == 2)
        #expect(try rig.flowStatus() == .success && rig.status("then success") == .new)
        #expect(try rig.status("then failure") == .cancelled && rig.status("then end") == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `equal flows with one unique key are one flow, and others are refused`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let first = try rig.submit("a", "b < a") { $0.uniqueKey = "nightly" }
        let second = try rig.submit("a", "b < a") { $0.uniqueKey = "nightly" }
        #expect(second.submission.isExisting && second.submission.id == first.submission.id)
        let error = #expect(throws: StoreError.self) { try rig.submit("a", "b") { $0.uniqueKey = "nightly" } }
        #expect(error?.code == .conflict)
        #expect(try rig.all().count == 3)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a node of an unknown type, or with a bad payload, refuses the whole flow`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let bad = CommandDraft(type: "unheard-of", payload: [], destination: .none, idempotent: false)
        #expect(throws: StoreError.self) {
            try rig.submit(FlowDraft("f", nodes: [FlowNode("a", .noop), FlowNode("b", bad)]))
        }
        let large = CommandDraft.noop.with { $0.payload = Array(repeating: 32, count: Command.payloadLimit + 1) }
        let error = #expect(throws: StoreError.self) { try rig.submit(FlowDraft("f", nodes: [FlowNode("big", large)])) }
        #expect(error?.message.contains("“big”") == true)
        #expect(try rig.all().isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `a flow is pruned as a whole`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", callbacks: [.success])
        func prune() throws -> Int {
            try rig.store.prune(
                shard: 0, before: .base + .seconds(1000), statuses: [.success, .cancelled], limit: 2
            ).count
        }
        try rig.succeed("a")
        #expect(try prune() == 0)
        try rig.succeed("b")
        #expect(try rig.flowStatus() == .success)
        // Its callback has not ended.
        #expect(try prune() == 0)
        try rig.succeed("then success")
        var count = 0
        for _ in 0..<6 { count += try prune() }
        #expect(count == 4)
        #expect(try rig.all().isEmpty)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a large cascade takes several transactions, and every step keeps the numbers right`(_ kind: StoreKind) throws
    {
        let rig = try FlowRig(kind)
        let children = (0..<3000).map { FlowNode("n\($0)", .noop, after: ["root": .success]) }
        let join = FlowNode(
            "join", .noop, after: Dictionary(uniqueKeysWithValues: children.map { ($0.name, .success) }))
        _ = try rig.submit(FlowDraft("wide", nodes: [FlowNode("root", .noop)] + children + [join]))
        var effects = try rig.fail("root")
        #expect(effects.hasMore && effects.events.count < 3000)
        #expect(try rig.store.relationProblems(shard: 0) == [])
        var steps = 0
        while effects.hasMore {
            effects = try rig.store.settle(shard: 0, now: .base, limit: 500)
            #expect(effects.events.count <= 1001)
            steps += 1
        }
        #expect(steps >= 3)
        #expect(try rig.status("join") == .cancelled && rig.flowStatus() == .tooManyTimes)
        try rig.check()
        // And back: the retry of the root revives all.
        effects = try #require(try rig.store.retry(rig["root"], now: .base))
        try rig.check(limit: 700)
        #expect(try rig.store.counts()[.blocked] == 3002 && rig.flowStatus() == .blocked)
        effects = try rig.succeed("root")
        try rig.check(limit: 700)
        #expect(try rig.store.counts()[.new] == 3000)
    }

    @Test(arguments: StoreKind.current)
    func `a chain of 5,000 is cancelled without recursion`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let nodes = (0..<5000).map { FlowNode("n\($0)", .noop, after: $0 == 0 ? [:] : ["n\($0 - 1)": .success]) }
        _ = try rig.submit(FlowDraft("chain", nodes: nodes.reversed()))
        try rig.fail("n0")
        try rig.check()
        #expect(try rig.store.counts()[.cancelled] == 4999 && rig.flowStatus() == .tooManyTimes)
    }
}
