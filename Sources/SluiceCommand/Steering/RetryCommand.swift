internal import ArgumentParser
internal import Commands
internal import Queue

struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Run commands again, at once.",
        discussion: """
            For commands in status error (without waiting for the backoff), cancelled or gaveUp. Their retries and \
            crashes are counted from 0 again; the offset is kept, so that a transfer continues from there. Settle a \
            command in doubt with “sluice resolve”. A batch is retried by its members that have failed.

            Name the commands by their ids, or by the filters of “sluice list”: all that they admit are retried, in status \
            error or gaveUp unless --status says otherwise. On a terminal it tells their number, and asks.

            EXAMPLES
              sluice retry 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice retry --status gaveUp --destination https://host
              sluice retry --failed-within 1h --error "503" --dry-run
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "Only commands of this quality of service.")
    var qos: QualityOfService?

    @OptionGroup var selection: CommandSelection

    func validate() throws { try selection.check(qos: qos) }

    func run() throws {
        try SteeringRun(data: data, print: print).change(
            selection, qos: qos, in: [.error, .tooManyTimes], verb: "Retry", Self.retry)
    }

    static func retry(_ command: Command, _ queue: QueueAccess) throws -> SteeringRun.Outcome {
        let change: CommandChange
        do { change = try queue.retry(command.id) } catch {
            // Another command has taken its unique key since.
            let error = SluiceError(error)
            guard error.code == .conflict else { throw error }
            return .refused(error.message)
        }
        switch change {
        case .membersRetried(let count):
            let members = "\(count) failed member\(count == 1 ? "" : "s")"
            return .done("waits again: \(members) will be run again")
        case .refused(.noFailedMembers):
            return .refused(
                "is a batch without failed members; “sluice list --batch \(command.id)” shows its members")
        case .refused where command.status == .inDoubt:
            return .refused("is in doubt: settle it with “sluice resolve \(command.id) --retry”")
        case .refused: return .refused("\(command.status.clause) and cannot be retried")
        default: return .done("will be run again")
        }
    }
}
