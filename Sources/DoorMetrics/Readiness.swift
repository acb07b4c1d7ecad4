internal import Commands
internal import Door
internal import Host
internal import Queue
internal import Synchronization
internal import UploadSpool
internal import Uploads

/// Whether the door can do its work, check by check.
struct Readiness: Sendable, Equatable {
    enum Check: String, Sendable, CaseIterable {
        /// The store can be read.
        case store
        /// A commit succeeds within a second.
        case commit
        /// The disk of the spool has more free bytes than the floor.
        case spool
        /// The coordinator was heard within 5 s.
        case coordinator
        /// The door accepts connections.
        case draining
    }

    /// The sentences of failed checks.
    private(set) var failures: [Check: String] = [:]

    var isReady: Bool { failures.isEmpty }

    mutating func fail(_ check: Check, _ sentence: String) { failures[check] = sentence }

    /// - Parameter hasDetails: with the sentences, which name files.
    func json(hasDetails: Bool) -> JSONValue {
        let failed = Check.allCases.filter { failures[$0] != nil }
        var members: [JSONValue.Member] = [
            .init("ready", .bool(isReady)), .init("failed", .array(failed.map { .string($0.rawValue) })),
        ]
        if hasDetails {
            let details = failed.map { JSONValue.Member($0.rawValue, .string(failures[$0] ?? "")) }
            members.append(.init("details", .object(details)))
        }
        return .object(members)
    }
}

/// Checks whether the door is ready. Store and spool are asked at most once a second, because any client may ask.
struct ReadinessCheck: Sendable {
    private let context: DoorContext
    private let coordinator: CoordinatorListener
    private let disk: CachedReading<Readiness>

    /// How long a commit may take.
    private static let commitTimeout: Duration = .seconds(1)
    private static let maxSilence: Duration = .seconds(5)

    init(_ context: DoorContext, coordinator: CoordinatorListener) {
        self.context = context
        self.coordinator = coordinator
        disk = CachedReading(maxAge: .seconds(1)) {
            var readiness = await BlockingPool.shared.run { () throws(Never) in Self.checkStore(context) }
            await Self.checkSpool(context, &readiness)
            return readiness
        }
    }

    func run() async -> Readiness {
        var readiness: Readiness
        // The margin is for a thread that has to wait for a processor.
        if let found = await disk.value(within: Self.commitTimeout + .milliseconds(500)) {
            readiness = found
        } else {
            readiness = Readiness()
            readiness.fail(.commit, "The store or the disk did not answer within 1.5 s; look at the disk.")
        }
        let silence = coordinator.silence
        if silence.map({ $0 > Self.maxSilence }) ?? true {
            let since = silence.map { "for \(Int($0.seconds)) s" } ?? "since the start of the door"
            readiness.fail(
                .coordinator, "The coordinator was not heard \(since); “sluice status” shows whether it runs.")
        }
        if context.statistics.isDraining.load(ordering: .relaxed) {
            readiness.fail(.draining, "The door ends; ask another one.")
        }
        return readiness
    }

    /// On a thread that may block.
    private static func checkStore(_ context: DoorContext) -> Readiness {
        var readiness = Readiness()
        let queue = context.client.access
        do { _ = try queue.counts() } catch {
            readiness.fail(.store, "The store cannot be read: \(SluiceError(error).message).")
        }
        do { try queue.commitProbe(timeout: commitTimeout) } catch {
            readiness.fail(.commit, "A commit failed: \(SluiceError(error).message).")
        }
        return readiness
    }

    private static func checkSpool(_ context: DoorContext, _ readiness: inout Readiness) async {
        do throws(UploadError) {
            guard let problem = try await context.uploads.spoolFigures().problem else { return }
            readiness.fail(.spool, "\(problem.prefix(1).uppercased())\(problem.dropFirst()).")
        } catch {
            readiness.fail(.spool, "The spool cannot be used: \(error.message)")
        }
    }
}
