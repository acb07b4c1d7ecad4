package import Commands
internal import HTTPTypes
internal import Host
package import Queue

/// The bulk actions of a door: each changes all commands that a filter admits, page by page, in the background.
///
/// A command that is submitted after the start is not part of an action. The runs are lost when the door ends: what an
/// action has changed until then stays changed.
package actor ActionRuns {
    /// Actions that may run at the same time.
    package static let maxRunning = 8
    /// Ended actions whose progress is kept.
    package static let maxEnded = 100

    private let client: SluiceClient
    private var runs: [ActionRun.ID: ActionRun] = [:]
    private var tasks: [ActionRun.ID: Task<Void, Never>] = [:]

    package init(_ client: SluiceClient) { self.client = client }

    /// Begins an action.
    /// - Parameter actor: the origin, for the reasons of transitions.
    /// - Throws: ``Problem`` 429 while too many run.
    package func start(_ action: BulkAction, by actor: String) async throws(Problem) -> ActionRun.ID {
        guard tasks.count < Self.maxRunning else {
            throw Problem(
                .tooManyRequests, "too-many-actions",
                "\(Self.maxRunning) bulk actions run, which is the maximum; wait for one to end, or cancel it.",
                fields: [.retryAfter: "5"])
        }
        var action = action
        let now = client.now
        action.filter.before = action.filter.before.map { min($0, now) } ?? now
        let run = ActionRun(action, id: CommandID(now: now), actor: actor, started: now)
        runs[run.id] = run
        tasks[run.id] = Task { await self.work(run) }
        return run.id
    }

    /// Nil for an unknown id, and for an action whose progress is no longer kept.
    package func run(_ id: ActionRun.ID) -> ActionRun? { runs[id] }

    /// The newest first.
    package func all() -> [ActionRun] { runs.values.sorted { $0.id > $1.id } }

    /// Ends an action before its next command. One that has ended stays as it is.
    /// - Returns: false for an unknown id.
    package func cancel(_ id: ActionRun.ID) -> Bool {
        tasks[id]?.cancel()
        return runs[id] != nil
    }

    /// Ends all actions, and returns when they have ended.
    package func stop() async {
        let tasks = Array(tasks.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func work(_ run: ActionRun) async {
        let walk = ActionWalk(run.action, by: run.actor, client: client)
        var after: CommandID?
        var state = ActionRun.State.done
        do {
            repeat {
                let page = try await walk.page(after: after)
                for chunk in page.commands.chunks(of: ActionWalk.width) {
                    try Task.checkCancellation()
                    add(await walk.change(chunk), to: run.id)
                }
                after = page.next
            } while after != nil
        } catch is CancellationError {
            state = .cancelled
        } catch {
            state = .failed
            runs[run.id]?.problem = "\(error)"
        }
        runs[run.id]?.state = state
        runs[run.id]?.ended = client.now
        tasks[run.id] = nil
        removeOldest()
    }

    private func add(_ outcomes: [ActionWalk.Outcome], to id: ActionRun.ID) {
        for outcome in outcomes {
            runs[id]?.seen += 1
            switch outcome {
            case .changed: runs[id]?.changed += 1
            case .skipped: runs[id]?.skipped += 1
            case .failed(let problem):
                runs[id]?.failed += 1
                runs[id]?.problem = problem
            }
        }
    }

    private func removeOldest() {
        let ended = runs.values.filter { $0.ended != nil }.sorted { $0.id < $1.id }
        for run in ended.dropLast(Self.maxEnded) { runs[run.id] = nil }
    }
}

extension Array {
    fileprivate func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}

/// The progress of a ``BulkAction``.
package struct ActionRun: Sendable, Equatable {
    package typealias ID = CommandID

    package enum State: String, Sendable {
        case running, done, cancelled
        /// The commands could not be read; ``ActionRun/problem`` says why.
        case failed
    }

    package let id: ID
    package let action: BulkAction
    /// The origin of the action, as ``DoorRequest/actor`` has it.
    package let actor: String
    package var state = State.running
    /// Commands that the filter has admitted so far.
    package var seen = 0
    package var changed = 0
    /// Commands whose status did not allow the change.
    package var skipped = 0
    /// Commands that could not be changed because of the store.
    package var failed = 0
    /// The newest error, in a sentence; nil where there is none.
    package var problem: String?
    package let started: Timestamp
    /// Nil while the action runs.
    package var ended: Timestamp?

    package init(_ action: BulkAction, id: ID, actor: String, started: Timestamp) {
        self.id = id
        self.action = action
        self.actor = actor
        self.started = started
    }
}

/// Reads and changes the commands of a ``BulkAction``.
struct ActionWalk: Sendable {
    enum Outcome: Sendable, Equatable {
        case changed, skipped
        case failed(String)
    }

    /// Commands that are changed at the same time: each change is a transaction of one shard.
    static let width = 8
    private static let pageSize = 200
    /// Time that the search for one page may take.
    private static let pageTime: Duration = .milliseconds(500)

    private let action: BulkAction
    private let actor: String
    private let client: SluiceClient

    init(_ action: BulkAction, by actor: String, client: SluiceClient) {
        self.action = action
        self.actor = actor
        self.client = client
    }

    /// A page may be empty although others follow.
    func page(after: CommandID?) async throws -> CommandPage {
        try Task.checkCancellation()
        return try await client.read { [action] queue in
            try queue.page(
                action.filter, order: .oldestFirst, after: after, limit: Self.pageSize, within: Self.pageTime)
        }
    }

    func change(_ commands: ArraySlice<Command>) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            for command in commands { group.addTask { await change(command) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func change(_ command: Command) async -> Outcome {
        guard action.statuses.contains(command.status), !action.verb.isSatisfied(by: command) else {
            return .skipped
        }
        do {
            _ = try await action.verb.apply(to: command.id, client: client, actor: actor)
            return .changed
        } catch let error as SluiceError {
            switch error.code {
            case .notAllowed, .noSuchCommand, .conflict: return .skipped
            default: return .failed(error.message)
            }
        } catch {
            return .failed("\(error)")
        }
    }
}
