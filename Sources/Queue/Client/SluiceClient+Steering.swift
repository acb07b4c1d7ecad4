public import Commands
internal import NetworkControl
internal import Store

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
        let change = try await write { queue in
            try queue.cancel(id, ifNewest: newest, reason: reason)
        }
        try refuse(change, id, "be cancelled")
        return change == .cancelled
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
        let change = try await write { queue in
            try queue.retry(id, ifNewest: newest, by: actor)
        }
        try refuse(change, id, "be retried")
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
        let change = try await write { queue in
            try queue.resolve(id, ifNewest: newest, as: status, by: actor)
        }
        try refuse(change, id, "be resolved as \(status)")
    }

    private func refuse(_ change: CommandChange, _ id: CommandID, _ verb: String) throws(SluiceError) {
        guard case .refused(let refusal) = change else { return }
        switch refusal {
        case .unknown: throw SluiceError.unknown(id)
        case .ended(let status):
            throw SluiceError(.notAllowed, "command \(id) has ended before, in status “\(status.word)”", id: id)
        case .outdated: throw SluiceError(.notAllowed, "command \(id) has changed meanwhile", id: id)
        case .notAllowed(let status):
            throw SluiceError(.notAllowed, "command \(id) \(status.clause) and cannot \(verb)", id: id)
        case .noFailedMembers:
            throw SluiceError(.notAllowed, "command \(id) is a batch without failed members", id: id)
        }
    }

    /// Changes the quality of service of a command that has not ended. A running command keeps its slot; the new
    /// quality of service counts when it runs again.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command has ended.
    public func requalify(_ id: CommandID, to qos: QualityOfService) async throws {
        try await requalify(id, ifNewest: nil, to: qos)
    }

    /// As ``requalify(_:to:)``, on the condition of ``cancel(_:ifNewest:reason:)``.
    package func requalify(_ id: CommandID, ifNewest newest: Int64?, to qos: QualityOfService) async throws {
        let change = try await write { queue in
            try queue.requalify(id, ifNewest: newest, to: qos)
        }
        if case .refused(.notAllowed(let status)) = change {
            throw SluiceError(.notAllowed, "command \(id) \(status.clause) and keeps its quality of service", id: id)
        }
        try refuse(change, id, "change its quality of service")
    }

    // MARK: Pauses

    /// Lets nothing new begin: nothing at all, or nothing of a quality of service, of a destination, or of both. Running
    /// commands continue. A pause lasts until ``resume(qos:destination:)`` with the same arguments, and needs no running
    /// coordinator.
    /// - Parameters:
    ///   - qos: nil, the default: every quality of service.
    ///   - destination: nil, the default: every destination.
    public func pause(qos: QualityOfService? = nil, destination: Destination? = nil) async throws {
        let pause = Pause(qos: qos, destination: destination, since: now.description)
        _ = try await write { access in try access.pause(pause) }
    }

    /// Ends the pause that was made with the same arguments.
    /// - Returns: false where there was none.
    @discardableResult
    public func resume(qos: QualityOfService? = nil, destination: Destination? = nil) async throws -> Bool {
        let pause = Pause(qos: qos, destination: destination, since: "")
        return try await write { access in try !access.resume(pause).isEmpty }
    }

    /// Ends every pause.
    package func resumeAll() async throws {
        _ = try await write { access in try access.resume(nil) }
    }
}
