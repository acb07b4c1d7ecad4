public import Commands
internal import NetworkControl
internal import Store
internal import Wire

extension SluiceClient {
    /// Cancels a command: at once, or by a cancellation request where a worker has claimed it.
    ///
    /// A claimed command that succeeds before the request reaches its worker stays a success. A second
    /// request for it changes nothing.
    /// - Parameters:
    ///   - id: the command.
    ///   - reason: a sentence for the timeline. The default is “cancelled by a person”.
    /// - Returns: true where the command is cancelled; false where the request is recorded.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command is `success`, `cancelled`
    ///   or `tooManyTimes`.
    @discardableResult
    public func cancel(_ id: CommandID, reason: String = "cancelled by a person") async throws -> Bool {
        try await cancel(id, ifNewest: nil, reason: reason)
    }

    /// As ``cancel(_:reason:)``, on a condition.
    /// - Parameter newest: the `seq` of the newest transition that the command must have; nil: any.
    /// - Throws: ``SluiceError``: also `notAllowed` where it has another.
    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) async throws -> Bool {
        let outcome = try await read { [clock] store throws(StoreError) in
            guard try store.command(id) != nil else { return nil as CancelOutcome? }
            return try store.cancel(id, ifNewest: newest, reason: reason, now: clock())
        }
        switch outcome {
        case nil: throw SluiceError.unknown(id)
        case .cancelled(let effects):
            send(effects, of: id)
            return true
        case .requested(let effects):
            batcher.send(.cancelRequested, [id])
            send(effects, of: id)
            return false
        case .ended(let status):
            throw SluiceError(.notAllowed, "command \(id) has ended before, in status “\(status.word)”", id: id)
        case .outdated: throw SluiceError(.notAllowed, "command \(id) has changed meanwhile", id: id)
        }
    }

    /// Makes a command `new` that waits for its backoff, was cancelled, or was given up.
    ///
    /// Retries and crashes are counted from 0 again, and a deadline that has passed is removed. The offset
    /// and the checkpoint stay, so an operation may resume. The command takes back a unique key whose period
    /// has not lapsed. Of a batch, the members that have failed are retried.
    /// - Parameters:
    ///   - id: the command.
    ///   - actor: the origin of the request, for the timeline. The default is “a person”.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where its status is not `error`, `cancelled`
    ///   or `tooManyTimes`; `conflict` where another command holds its unique key now.
    public func retry(_ id: CommandID, by actor: String = "a person") async throws {
        try await retry(id, ifNewest: nil, by: actor)
    }

    /// As ``retry(_:by:)``, on the condition of ``cancel(_:ifNewest:reason:)``.
    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) async throws {
        try await change(id, "be retried") { [clock] store throws(StoreError) in
            if let effects = try store.retry(id, ifNewest: newest, by: actor, now: clock()) { return effects }
            guard try store.command(id)?.type == CommandType.batch else { return nil }
            let (count, effects) = try store.retryMembers(of: id, by: actor, now: clock())
            return count == 0 ? nil : effects
        }
    }

    /// Settles a command that is in doubt.
    /// - Parameters:
    ///   - id: the command.
    ///   - status: `success` where it was delivered, `new` to run it again, or `cancelled`.
    ///   - actor: the origin of the request, for the timeline. The default is “a person”.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command is not in doubt, or for
    ///   another status.
    public func resolve(_ id: CommandID, as status: CommandStatus, by actor: String = "a person") async throws {
        try await resolve(id, ifNewest: nil, as: status, by: actor)
    }

    /// As ``resolve(_:as:by:)``, on the condition of ``cancel(_:ifNewest:reason:)``.
    package func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) async throws {
        let spool = Spool(directory: directory.spool)
        try await change(id, "be resolved as \(status)") { [clock] store throws(StoreError) in
            let effects = try store.resolve(id, ifNewest: newest, as: status, by: actor, now: clock())
            // A delivered file is not sent again, so its spooled copy can go.
            if effects != nil, status == .success, let payload = try store.payload(id) {
                spool.discard(stored: payload)
            }
            return effects
        }
    }

    private func change(
        _ id: CommandID, _ change: String,
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Effects?
    ) async throws {
        let (effects, status) = try await read { store throws(StoreError) in
            (try body(store), try store.command(id)?.status)
        }
        guard let status else { throw SluiceError.unknown(id) }
        guard let effects else {
            throw SluiceError(.notAllowed, "command \(id) \(status.clause) and cannot \(change)", id: id)
        }
        send(effects, of: id)
    }

    /// Tells the coordinator of a change, and of its effects on other commands.
    private func send(_ effects: Effects, of id: CommandID) {
        let (changed, requested) = effects.hints(without: id)
        batcher.send(.changed, [id] + changed)
        batcher.send(.cancelRequested, requested)
    }

    /// Changes the quality of service of a command that has not ended. A running command keeps its slot; the new
    /// quality of service counts when it runs again.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command has ended.
    public func requalify(_ id: CommandID, to qos: QualityOfService) async throws {
        try await requalify(id, ifNewest: nil, to: qos)
    }

    /// As ``requalify(_:to:)``, on the condition of ``cancel(_:ifNewest:reason:)``.
    package func requalify(_ id: CommandID, ifNewest newest: Int64?, to qos: QualityOfService) async throws {
        let (isChanged, status) = try await read { [clock] store throws(StoreError) in
            (try store.requalify(id, ifNewest: newest, qos: qos, now: clock()), try store.command(id)?.status)
        }
        guard let status else { throw SluiceError.unknown(id) }
        guard isChanged else {
            throw SluiceError(.notAllowed, "command \(id) \(status.clause) and keeps its quality of service", id: id)
        }
        batcher.send(.changed, [id])
    }

    // MARK: Pauses

    /// Lets nothing new begin: nothing at all, or nothing of a quality of service, of a destination, or of both. Running
    /// commands continue. A pause lasts until ``resume(qos:destination:)`` with the same arguments, and needs no running
    /// coordinator.
    /// - Parameters:
    ///   - qos: nil, the default: every quality of service.
    ///   - destination: nil, the default: every destination.
    public func pause(qos: QualityOfService? = nil, destination: Destination? = nil) async throws {
        let pause = Pause(qos: qos, destination: destination, since: clock().description)
        _ = try await access { access throws(StoreError) in try access.pause(pause) }
    }

    /// Ends the pause that was made with the same arguments.
    /// - Returns: false where there was none.
    @discardableResult
    public func resume(qos: QualityOfService? = nil, destination: Destination? = nil) async throws -> Bool {
        let pause = Pause(qos: qos, destination: destination, since: "")
        return try await access { access throws(StoreError) in try !access.resume(pause).isEmpty }
    }

    /// Ends every pause.
    package func resumeAll() async throws {
        _ = try await access { access throws(StoreError) in try access.resume(nil) }
    }
}
