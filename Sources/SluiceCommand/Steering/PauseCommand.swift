internal import ArgumentParser
internal import Commands
internal import Host
internal import NetworkControl
internal import Queue
internal import Synchronization

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let nothing new begin: everything, one quality of service, one destination.",
        discussion: """
            Running commands continue. A pause lasts until “sluice resume” with the same options; it needs no running \
            coordinator. Without options it pauses everything. --wait ends when none of the paused commands runs any more, so \
            that a file system can be unmounted or a server be restarted; Ctrl-C ends the wait and leaves the pause.

            EXAMPLES
              sluice pause
              sluice pause --destination file:///mnt/nas --wait && umount /mnt/nas
              sluice pause --qos background
              sluice pause --destination https://media.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var scope: PauseScope

    @Flag(name: .long, help: "Wait until none of these commands runs any more.")
    var wait = false

    func run() async throws {
        let queue = try data.queue()
        let (entry, isNew) = try queue.pause(scope.entry(since: queue.now))
        report(
            entry,
            isNew ? "paused; “\(entry.resume)” lets it go on" : "was paused before, since \(entry.since)")
        if wait {
            Output.flush()
            try await PauseWaiter(queue, entry).run()
        }
    }

    private func report(_ entry: Pause, _ what: String) {
        Output.line(print.json ? entry.json.text : "\(entry.scope): \(what)")
    }
}

struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lift a pause.",
        discussion: """
            Lifts the pause that was made with the same options; without options, the one that was made without. It names \
            the pauses that remain, which may be a colleague's. --all lifts every pause.

            EXAMPLES
              sluice resume
              sluice resume --qos background
              sluice resume --destination https://media.example.com
              sluice resume --all
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var scope: PauseScope

    @Flag(name: .long, help: "Lift every pause.")
    var all = false

    func validate() throws {
        if all, scope.qos != nil || scope.destination != nil {
            throw ValidationError("--all lifts every pause; it does not go with --qos and --destination.")
        }
    }

    func run() throws {
        let queue = try data.queue()
        let wanted = scope.entry(since: queue.now)
        let lifted = try queue.resume(all ? nil : wanted)
        for entry in lifted {
            Output.line(print.json ? entry.json.text : "\(entry.scope): goes on")
        }
        if lifted.isEmpty, !print.json { Output.line(all ? "nothing was paused" : "\(wanted.scope): was not paused") }
        Output.flush()
        for entry in try queue.pauses() {
            Diagnostics.say("still paused: \(entry.sentence); “\(entry.resume)” lifts it")
        }
    }
}

/// The commands that `pause` and `resume` name.
struct PauseScope: ParsableArguments {
    @Option(name: .long, help: "Only this quality of service.")
    var qos: QualityOfService?

    @Option(name: .long, help: ArgumentHelp("Only this origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument?

    func entry(since: Timestamp) -> Pause {
        Pause(qos: qos, destination: destination?.destination, since: since.description)
    }
}

/// `pause --wait`: returns when no worker runs a command that the pause covers.
struct PauseWaiter {
    private let queue: QueueAccess
    private let pause: Pause

    private static let interval: Duration = .milliseconds(200)
    /// A worker may have claimed an offer right before it heard of the pause.
    private static let quiet: Duration = .seconds(1)

    init(_ queue: QueueAccess, _ pause: Pause) {
        self.queue = queue
        self.pause = pause
    }

    func run() async throws {
        let count = Mutex(0)
        SignalHandling.exits { Diagnostics.say("still paused; \(Self.words(count.withLock { $0 })) running") }
        var lastSeen = MonotonicTime.now
        var hasSaid = false
        while true {
            let running = try await BlockingPool.shared.run { [queue, pause] () -> Int in
                try queue.running(under: pause)
            }
            count.withLock { $0 = running }
            if running > 0 {
                lastSeen = .now
                if !hasSaid { Diagnostics.say("waiting: \(Self.words(running)) running") }
                hasSaid = true
                Diagnostics.showStatus { _ in "\(Self.words(running)) running" }
            } else if MonotonicTime.now - lastSeen >= Self.quiet || queue.coordinator == nil {
                Diagnostics.clearStatus()
                return
            } else {
                queue.remindOfSettings()
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 command is" : "\(count) commands are" }
}
