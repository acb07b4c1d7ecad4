internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue

/// `--wait` for a flow: returns when it has ended, and shows on a terminal how many of its nodes have.
///
/// Ctrl-C detaches: the flow continues.
struct FlowWaiter {
    let client: SluiceClient
    let id: CommandID

    /// - Throws: ``ExitError`` `failed` where the flow has not succeeded.
    func run() async throws {
        SignalHandling.exits { [id] in Diagnostics.say("detached; the flow goes on. See “sluice flow \(id)”") }
        let outcome = try await withThrowingTaskGroup(of: CommandOutcome?.self) { group in
            group.addTask { try await client.wait(for: id) }
            group.addTask {
                await draw()
                return nil
            }
            group.addTask {
                await watchCoordinator()
                return nil
            }
            defer { group.cancelAll() }
            while let next = try await group.next() { if let next { return next } }
            throw CancellationError()
        }
        Diagnostics.clearStatus()
        guard !outcome.isSuccess else { return }
        let reason = outcome.reason.map { ": \($0)" } ?? ""
        Diagnostics.say("\(id) \(outcome.status.clause)\(reason). See “sluice flow \(id)”")
        throw ExitError(.failed, nil)
    }

    private func draw() async {
        guard Diagnostics.isTerminal else { return }
        while !Task.isCancelled {
            if let flow = try? await client.flow(id) {
                Diagnostics.showStatus { columns in
                    let failed = flow.failed > 0 ? ", \(Figures.grouped(Int64(flow.failed))) failed" : ""
                    return TerminalText.cut(
                        "\(flow.name): \(Figures.grouped(Int64(flow.nodes - flow.open))) of "
                            + "\(Figures.grouped(Int64(flow.nodes))) ended\(failed)", width: columns)
                }
            }
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    private func watchCoordinator() async {
        while !Task.isCancelled {
            if client.access.coordinator == nil {
                return Diagnostics.say("nothing is running yet; waiting. Start it with “sluice up”")
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
