internal import ArgumentParser
internal import Door
internal import DoorAPI
internal import DoorLive
internal import DoorMetrics
internal import DoorPages
internal import Logging
internal import Operations
internal import ServiceLifecycle
internal import Sluice
internal import Store

struct DoorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "door",
        abstract: "Take uploads over HTTP.",
        discussion: """
            Clients upload by tus 1.0, by resumable uploads of the IETF, by PUT or POST, or by a form. An offset that the \
            door states is on disk: after a crash of the door, of the client or of the network an upload goes on from there. \
            A data directory has one door; a second one exits with 75.

            Every request needs a token. The door makes one at its first start, in keys/door.token of the data directory; \
            “sluice token create” makes others, which may do less. The example gives it to curl in a descriptor: every user of \
            the machine could read an argument.

            SIGTERM or Ctrl-C ends it: requests get 10 s, and what they have brought is kept.

            EXAMPLES
              sluice door
              sluice door --listen 127.0.0.1:7411
              curl -H @<(printf 'Authorization: Bearer %s' "$(cat sluice-data/keys/door.token)") -T a.mp4 \\
                'http://127.0.0.1:7411/uploads?name=a.mp4'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The address; port 0 takes any free port (default: door.listen of sluice.yaml, else \(Self.defaultAddress)).",
            valueName: "host:port"))
    var listen: ListenAddress?

    @Option(
        name: .long, help: ArgumentHelp("A pipe that closes when the parent has ended.", visibility: .private))
    var parentDescriptor: Int32?

    private static let defaultAddress = ListenAddress(host: "127.0.0.1", port: 7411)

    func run() async throws {
        try Services.requireDescriptors()
        let logger = log.logger("door")
        let file = try await ConfigurationFile(data, data.directory())
        let (directory, store) = try data.store(create: true)
        let client = try SluiceClient(
            directory: directory, store: store, registry: BuiltInOperations.registry(try file.uploads()))
        let address = listen ?? file.door.listen ?? Self.defaultAddress
        let routes = try ConfiguredRoutes.read(data)
        var registries = SubmitRegistries(data)
        let registry = await registries.lookup(for: Set(routes.routes.flatMap(\.types)))
        let live = LivePart()
        let service = DoorService(
            client, file.door, address: address, routes: routes, registry: registry,
            parts: [live, APIPart(), MetricsPart(live), PagesPart(live)], logger: logger
        ) { listening in
            logger.info("The door listens", metadata: ["url": "\(listening.url)", "token": "\(listening.tokenFile)"])
            Notify.ready()
        }
        if let parentDescriptor { Services.endWithParent(parentDescriptor) }
        try await Services.run(service, logger: logger)
    }
}

extension ListenAddress: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
