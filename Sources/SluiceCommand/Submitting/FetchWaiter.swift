internal import Commands
internal import Queue

/// Waits for a fetch, but not for a network that is away.
struct FetchWaiter {
    enum End: Sendable {
        case ended(CommandOutcome)
        /// It waits for something that may take long: a sentence.
        case held(String)
    }

    /// The reasons of ``WaitReason`` that may last.
    private static let lasting: Set<String> = [
        "coordinator", "worker", "type", "pause", "link", "linkWait", "circuitBreaker", "notBefore", "backoff",
    ]
    private static let interval: Duration = .milliseconds(500)

    let client: SluiceClient
    let data: DataOptions
    let id: CommandID

    func run() async throws -> End {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask { .ended(try await client.wait(for: id)) }
            group.addTask { .held(try await held()) }
            let end = try await group.next() ?? .held("nothing is known of \(id)")
            group.cancelAll()
            return end
        }
    }

    /// Returns when the command has the same lasting reason twice: a worker that starts, or a link that is
    /// probed, needs no second.
    private func held() async throws -> String {
        let queue = try data.queue()
        var last: String?
        while true {
            try await Task.sleep(for: Self.interval)
            guard let command = try queue.command(id), !command.status.isFinal else {
                last = nil
                continue
            }
            let links = try await LinkSource(queue).readings(for: command)
            let reasons = try WaitExplainer(queue: queue, links: links).reasons(of: command)
            let lasting = reasons.first {
                Self.lasting.contains($0.name) && command.status == .new || $0.name == "backoff"
            }
            if let lasting, lasting.name == last { return lasting.measured }
            last = lasting?.name
        }
    }
}
