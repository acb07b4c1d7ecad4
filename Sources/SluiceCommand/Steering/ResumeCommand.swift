internal import ArgumentParser
internal import Commands
internal import NetworkControl
internal import Queue

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
