public import Commands
internal import NetworkControl
internal import Store

extension SluiceClient {
    /// A part of the list of commands, in the order of their ids, which is that of their submits.
    ///
    /// ```swift
    /// var filter = CommandFilter(status: .tooManyTimes)
    /// var after: CommandID?
    /// repeat {
    ///     let page = try await client.list(filter, after: after)
    ///     for command in page.commands { print(command.id, command.reason ?? "") }
    ///     after = page.next
    /// } while after != nil
    /// ```
    /// A filter by status, and one without fields, is answered from an index; any other looks at the commands one by one.
    /// - Parameters:
    ///   - filter: the default admits all.
    ///   - order: the default is `oldestFirst`.
    ///   - after: ``CommandPage/next`` of the page before; nil, the default, starts at the first.
    ///   - limit: 1…1,000; the default is 100.
    public func list(
        _ filter: CommandFilter = CommandFilter(), order: CommandOrder = .oldestFirst, after: CommandID? = nil,
        limit: Int = 100
    ) async throws -> CommandPage {
        let limit = min(max(limit, 1), 1000)
        return try await read { queue in
            try queue.store.page(filter, order: order, after: after, limit: limit, until: nil)
        }
    }

    /// Why a command is not running: each reason in a sentence, with its value, its threshold and the event that ends the
    /// wait, as `sluice explain` prints them.
    /// - Throws: ``SluiceError``: `noSuchCommand` where there is no command with that id.
    public func explain(_ id: CommandID) async throws -> Explanation {
        guard let command = try await command(id) else { throw SluiceError.unknown(id) }
        let links: [LinkReport]
        do { links = try await LinkSource(access).readings(for: command) } catch {
            throw error is CancellationError ? error : SluiceError(error)
        }
        return try await read { queue in
            Explanation(
                of: command, reasons: try WaitExplainer(queue: queue, links: links).reasons(of: command),
                proxy: nil, errorOutput: try queue.errorOutput(of: command), now: queue.now)
        }
    }
}
