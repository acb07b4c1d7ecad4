internal import ArgumentParser
internal import Commands
internal import NetworkControl
internal import Queue

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
