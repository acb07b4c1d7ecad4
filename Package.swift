// swift-tools-version: 6.2
import PackageDescription

/// Continuous integration treats warnings as errors; a person at work sees them and goes on.
let strict: [SwiftSetting] = Context.environment["CI"] == nil ? [] : [.treatAllWarnings(as: .error)]

let swiftSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + strict

/// Smaller images: 137,000 relocations of a static build take 27 kB instead of 3.3 MB, and the table of 46,000 exported
/// symbols, which no process looks up, is left out (3 MB of an idle worker).
let lean: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--no-export-dynamic",
        ], .when(platforms: [.linux]))
]

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

/// To write endpoints of the door.
let http: [Target.Dependency] = [
    .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "NIOCore", package: "swift-nio"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(name: "\(name)Tests", dependencies: dependencies, swiftSettings: swiftSettings)
}

let package = Package(
    name: "sluice",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Sluice", targets: ["Sluice"]),
        .library(name: "SluiceTesting", targets: ["SluiceTesting"]),
        .executable(name: "sluice", targets: ["SluiceCommand"]),
        .executable(name: "example-worker", targets: ["ExampleWorker"]),
        .executable(name: "submit-and-wait", targets: ["ExampleSubmit"]),
        .executable(name: "submit-flow", targets: ["ExampleFlow"]),
        .executable(name: "latest-image", targets: ["ExampleImage"]),
        .executable(name: "show-collection", targets: ["ExampleCollection"]),
        .executable(name: "simulate", targets: ["Simulate"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
    ],
    targets: [
        // The only modules of C. FlowText also imports CYaml, the parser of Yams.
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CLinux"),
        // Loads libpq at run time, so that nothing is needed to build it.
        .target(name: "CPostgreSQL"),

        module("Host", ["CLinux"]),
        module("ZeroMQ", ["CZeroMQ", "CLinux", "Host"]),
        module("Commands"),
        module("Settings", ["Commands", "FlowText"]),
        // Not “Network”: dependencies ask `canImport(Network)`, mean Apple's, and would find this one.
        .target(
            name: "NetworkControl", dependencies: ["Commands", "Settings", "Host"],
            swiftSettings: swiftSettings),
        .target(name: "Wire", dependencies: ["Commands"], exclude: ["PROTOCOL.md"], swiftSettings: swiftSettings),
        module(
            "Store",
            [
                "Commands", "CLinux", "CPostgreSQL", "Host",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        // Which processes of an installation live, and where their sockets are.
        module("Membership", ["Commands", "CLinux", "Host", "Store", "ZeroMQ"]),
        module(
            "Coordination",
            [
                "Commands", "Membership", "NetworkControl", "Settings", "Wire", "Store", "ZeroMQ", "CLinux", "Host",
                log, lifecycle,
                .product(name: "Collections", package: "swift-collections"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]),
        module("Operations", ["Commands", "Host"]),
        module(
            "Work",
            [
                "Operations", "Commands", "Membership", "Wire", "Store", "ZeroMQ", "CLinux", "Host", log, lifecycle,
                .product(name: "Collections", package: "swift-collections"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]),
        module(
            "HTTPClient",
            [
                "Commands", "CLinux", "CZlib", "Host", "Settings",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(
            "Transfers",
            [
                "Operations", "CLinux", "Commands", "HTTPClient", "Host",
                "Settings", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        module(
            "S3",
            [
                "Operations", "Commands", "HTTPClient", "Host", "Store",
                "Transfers", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "FileOps",
            [
                "Operations", "CLinux", "Commands", "HTTPClient", "Host", "S3", "Settings", "Store",
                "Transfers", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "Fetch",
            [
                "Operations", "CLinux", "Commands", "HTTPClient", "Host",
                "Transfers", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "Sync",
            [
                "Operations", "CLinux", "Commands", "HTTPClient", "Host", "Store",
                "Transfers", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module("Exec", ["Operations", "CLinux", "Commands", "HTTPClient", "Host", "Settings", "Transfers"]),
        module(
            "Webhook",
            [
                "Operations", "Commands", "HTTPClient", "Host", "Settings", "Transfers",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        module(
            "BuiltIn",
            [
                "Operations", "Commands", "Exec", "Fetch", "FileOps", "HTTPClient", "S3", "Settings", "Sync",
                "Transfers", "Webhook",
            ]),
        module(
            "Supervision",
            [
                "CLinux", "Host", log, lifecycle,
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]),
        // Every verb and every reading of the queue, for all faces.
        module(
            "Queue",
            [
                "Operations", "Commands", "Console", "FlowText", "Host", "Membership", "NetworkControl", "Settings",
                "Store", "UploadSpool", "Wire", "ZeroMQ",
            ]),
        module(
            "Sluice",
            [
                "Operations", "BuiltIn", "Fetch", "Sync", "Commands", "CLinux", "Host", "Membership", "Queue", "Store",
                "Work", log, lifecycle, signals,
            ]),
        module(
            "SluiceTesting",
            [
                "Operations", "BuiltIn", "Transfers", "Commands", "Coordination", "Host", "Membership", "Sluice",
                "Store", "Wire", "Work", log,
            ]),
        module("FlowText", ["Commands", .product(name: "Yams", package: "Yams")]),
        module("Console", ["Commands", "Host", "NetworkControl"]),
        // Where the bytes of uploads are, and whether they are there.
        module("UploadSpool", ["Commands", "CLinux", "Host", "Store"]),
        // Below all protocols: what an upload is, and when its bytes are durable.
        module(
            "Uploads",
            [
                "Commands", "CLinux", "Host", "Store", "UploadSpool", log,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]),
        module(
            "Door",
            [
                "Operations", "Transfers", "Commands", "CLinux", "Console", "FlowText", "Host", "HTTPClient",
                "Membership", "Settings", "Queue", "Store", "Uploads", "UploadSpool", log, lifecycle,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ]),
        // Counts and histograms of a process, in the text format of Prometheus.
        module("Telemetry", ["Commands", "Host", log, .product(name: "Metrics", package: "swift-metrics")]),
        // The state of the running system that events tell, and the streams of events over HTTP.
        module(
            "DoorLive",
            [
                "Commands", "Console", "Door", "Host", "Membership", "NetworkControl", "Queue", log,
            ] + http),
        .target(
            name: "DoorAPI",
            dependencies: [
                "Operations", "Commands", "Console", "Door", "FlowText", "Host", "HTTPClient",
                "NetworkControl", "Queue", "Settings", "Uploads", log,
                .product(name: "Crypto", package: "swift-crypto"),
            ] + http,
            resources: [.embedInCode("Assets")], swiftSettings: swiftSettings),
        module(
            "DoorMetrics",
            [
                "Commands", "Console", "Door", "DoorLive", "Host", "NetworkControl", "Queue", "Telemetry", "Uploads",
                "UploadSpool", log,
            ] + http),
        .target(
            name: "DoorPages",
            dependencies: [
                "Commands", "Console", "Door", "DoorLive", "Host", "HTTPClient", "NetworkControl", "Queue",
                "Uploads", "UploadSpool", log,
                .product(name: "Crypto", package: "swift-crypto"),
            ] + http,
            resources: [.embedInCode("Assets")], swiftSettings: swiftSettings),
        .executableTarget(
            name: "SluiceCommand",
            dependencies: [
                "Operations", "BuiltIn", "Exec", "Fetch", "FileOps", "Sync", "Transfers", "Webhook",
                "Commands", "Settings", "NetworkControl", "Wire", "Store", "ZeroMQ", "CLinux", "Host", "Coordination",
                "Membership", "Work", "HTTPClient", "Supervision", "Queue", "Sluice", "Console", "FlowText", "Door",
                "DoorAPI", "DoorLive", "DoorMetrics", "DoorPages", "Telemetry", "Uploads", "UploadSpool", log,
                lifecycle, signals,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: swiftSettings, linkerSettings: lean),
        .executableTarget(
            name: "ExampleWorker", dependencies: ["Sluice"], path: "Sources/Examples/CustomWorker",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "ExampleSubmit", dependencies: ["Sluice"], path: "Sources/Examples/SubmitAndWait",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "ExampleFlow", dependencies: ["Sluice"], path: "Sources/Examples/SubmitFlow",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "ExampleImage", dependencies: ["Sluice"], path: "Sources/Examples/LatestImage",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "ExampleCollection", dependencies: ["Sluice"], path: "Sources/Examples/ShowCollection",
            swiftSettings: swiftSettings),
        // Its tests show SluiceTesting.
        .target(
            name: "ExampleQuotes", dependencies: ["Sluice"], path: "Sources/Examples/Quotes",
            swiftSettings: swiftSettings),

        // The test bed: an emulated network and destinations to send to. The emulator passes on ten thousand packets a second,
        // also for a debug build.
        .executableTarget(
            name: "LinkEmulator", dependencies: ["Commands", "CLinux"], path: "Tests/Tools/LinkEmulator",
            swiftSettings: swiftSettings + [.unsafeFlags(["-O"])], linkerSettings: lean),
        .executableTarget(
            name: "TestDestination",
            dependencies: [
                "Commands", "CLinux", "Host", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Tools/TestDestination", swiftSettings: swiftSettings, linkerSettings: lean),
        .executableTarget(
            name: "TestResolver", path: "Tests/Tools/TestResolver", swiftSettings: swiftSettings, linkerSettings: lean),
        .executableTarget(
            name: "NetworkEvaluation",
            dependencies: [
                "BuiltIn", "Commands", "Host", "Sluice", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Tools/NetworkEvaluation", swiftSettings: swiftSettings, linkerSettings: lean),

        // A stand-in for a worker that runs programs and may be killed.
        .executableTarget(
            name: "ExecTestWorker", dependencies: ["Exec", "Transfers", "CLinux", "Commands", "Host"],
            path: "Tests/Tools/ExecTestWorker", swiftSettings: swiftSettings, linkerSettings: lean),

        // Workers and the store in threads that take turns. Only `simulate` links the C target, which takes the places of
        // functions of the C library and of libdispatch; they must be visible to the shared libraries of Swift.
        .target(
            name: "CSimulation", path: "Tests/Tools/CSimulation", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "Simulate",
            dependencies: [
                "Operations", "CSimulation", "Commands", "Host", "Store", "TestSupport", "Wire", "Work", log,
            ],
            path: "Tests/Tools/Simulate", swiftSettings: swiftSettings,
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"], .when(platforms: [.linux]))]),

        .target(name: "TestOrder", path: "Tests/Order"),
        .target(
            name: "TestSupport",
            dependencies: [
                "Operations", "Commands", "FlowText", "Host", "Settings", "Store", "CLinux", "CZlib", "TestOrder",
                "Wire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/Support",
            exclude: [
                "Script/SCRIPT.md", "refusals.txt", "botocore-vectors.py", "webhook-vectors.py", "s3-peer.py",
                "cronsim-peer.py",
                "openapi-client.py", "upload-client.py", "pages", "descriptor-pressure.py",
            ],
            swiftSettings: swiftSettings),
        // Changes the routes of a network namespace, which a process enters before its first thread.
        .executableTarget(
            name: "RouteProbe",
            dependencies: ["Commands", "Coordination", "Host", "NetworkControl", "ZeroMQ", "CLinux"],
            path: "Tests/Tools/RouteProbe", swiftSettings: swiftSettings),
        tests("Host", ["Host", "TestSupport"]),
        tests("ZeroMQ", ["ZeroMQ", "Host", "TestSupport"]),
        tests("Commands", ["Commands", "TestSupport"]),
        tests("Settings", ["Settings", "Commands", "FlowText", "TestSupport"]),
        .testTarget(
            name: "NetworkControlTests",
            dependencies: [
                "NetworkControl", "Commands", "Host", "Settings", "TestSupport",
            ],
            swiftSettings: swiftSettings),
        tests("Wire", ["Wire", "Commands", "TestSupport"]),
        tests(
            "HTTPClient",
            [
                "HTTPClient", "Commands", "Host", "Settings", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        // Breaks connections to a PostgreSQL server; by hand, for tests it is in TestSupport.
        .executableTarget(
            name: "ServerProxy", dependencies: ["TestSupport"], path: "Tests/Tools/ServerProxy",
            swiftSettings: swiftSettings, linkerSettings: lean),
        tests("Store", ["Work", "Store", "Commands", "CLinux", "CPostgreSQL", "Host", "TestSupport"]),
        tests(
            "Coordination",
            [
                "Coordination", "RouteProbe", "Commands", "Host", "Membership", "NetworkControl", "Store", "Wire",
                "ZeroMQ",
                "TestSupport", lifecycle, log,
            ]),
        // A process that has a role of an installation, and may be killed.
        .executableTarget(
            name: "RoleHolder", dependencies: ["Membership", "Commands", "Host", "Store", "ZeroMQ"],
            path: "Tests/Tools/RoleHolder",
            swiftSettings: swiftSettings, linkerSettings: lean),
        tests("Membership", ["Membership", "RoleHolder", "Commands", "Host", "Store", "TestSupport", "ZeroMQ"]),
        tests(
            "Work",
            ["Operations", "Work", "Commands", "Host", "Membership", "Store", "Wire", "ZeroMQ", "TestSupport"]),
        tests(
            "Transfers",
            [
                "Operations", "Commands", "HTTPClient", "Host", "Transfers", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        tests(
            "S3",
            [
                "Operations", "Commands", "FileOps", "HTTPClient", "S3", "Store", "Transfers", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        tests(
            "FileOps",
            [
                "Operations", "CLinux", "Commands", "Fetch", "FileOps", "HTTPClient", "Host", "S3", "Settings", "Store",
                "Transfers", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        tests(
            "Fetch",
            [
                "Operations", "Commands", "Fetch", "FileOps", "HTTPClient", "Host", "Transfers", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        tests("Sync", ["Operations", "Commands", "HTTPClient", "Sync", "Transfers", "TestSupport"]),
        tests(
            "Exec",
            [
                "Operations", "CLinux", "Commands", "Exec", "Host", "Settings", "Transfers", "ExecTestWorker",
                "TestSupport",
            ]),
        tests(
            "Webhook",
            [
                "Operations", "BuiltIn", "Commands", "HTTPClient", "Settings", "Store", "Transfers", "Webhook",
                "Work", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        tests(
            "BuiltIn",
            [
                "Operations", "BuiltIn", "Commands", "Fetch", "FileOps", "HTTPClient", "Settings", "Sync",
                "Transfers", "TestSupport",
            ]),
        tests("Supervision", ["Supervision", "Host", "TestSupport"]),
        tests(
            "Telemetry",
            [
                "Telemetry", "Commands", "Host", "TestSupport", log,
                .product(name: "Metrics", package: "swift-metrics"),
            ]),
        tests(
            "DoorLive",
            [
                "Commands", "Console", "Door", "DoorLive", "Host", "Membership", "NetworkControl", "Queue", "Store",
                "TestSupport", "Wire", log, lifecycle, .product(name: "NIOPosix", package: "swift-nio"),
            ] + http),
        tests(
            "DoorAPI",
            [
                "BuiltIn", "Commands", "Console", "Door", "DoorAPI", "FlowText", "Host", "Membership", "Queue",
                "Settings", "Store", "TestSupport", "Uploads", "UploadSpool", log,
            ] + http),
        tests(
            "DoorMetrics",
            [
                "Commands", "Console", "Door", "DoorLive", "DoorMetrics", "NetworkControl", "Queue", "Store",
                "Telemetry",
                "TestSupport", "Uploads", "UploadSpool", log,
            ] + http),
        tests(
            "DoorPages",
            [
                "BuiltIn", "Commands", "Console", "Door", "DoorLive", "DoorPages", "Host", "Membership", "Queue",
                "Store", "TestSupport", "Uploads", "UploadSpool", log,
            ] + http),
        tests("Uploads", ["Uploads", "UploadSpool", "Commands", "CLinux", "Host", "Store", "TestSupport", log]),
        tests(
            "Door",
            [
                "Operations", "BuiltIn", "Transfers", "Door", "Uploads", "UploadSpool", "Commands", "FlowText",
                "HTTPClient", "Host", "Settings", "Store", "TestSupport", log, lifecycle,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        tests(
            "Sluice", ["Commands", "Host", "Membership", "Queue", "Sluice", "Store", "Wire", "ZeroMQ", "TestSupport"]),
        tests("SluiceTesting", ["SluiceTesting", "TestSupport"]),
        tests("ExampleQuotes", ["ExampleQuotes", "SluiceTesting", "TestSupport"]),
        tests("FlowText", ["FlowText", "Commands", "TestSupport"]),
        tests("Console", ["Console", "Commands", "Host", "NetworkControl"]),
        tests(
            "Queue",
            [
                "Operations", "Queue", "Commands", "Console", "FlowText", "Host", "Membership", "NetworkControl",
                "Settings", "Store", "TestSupport", "UploadSpool", "Wire", "ZeroMQ",
            ]),
        tests(
            "SluiceCommand",
            [
                "Operations", "SluiceCommand", "Commands", "Host", "Membership", "Queue", "Store", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        tests(
            "EndToEnd",
            [
                "BuiltIn", "Commands", "Coordination", "HTTPClient", "Host", "Membership", "Store", "Wire", "Work",
                "ZeroMQ",
                "Sluice", "SluiceCommand", "TestSupport", "LinkEmulator", "TestDestination", "TestResolver",
                "NetworkEvaluation", lifecycle, log,
            ]),
    ]
)

/// `SLUICE_ONLY=Store swift test` builds that module with its tests: the manifest leaves out the targets that they do not need.
if let only = Context.environment["SLUICE_ONLY"] {
    let all = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var kept: Set<String> = []
    func keep(_ name: String) {
        guard let target = all[name], kept.insert(name).inserted else { return }
        for case .byNameItem(let name, _) in target.dependencies { keep(name) }
    }
    keep(only)
    keep("\(only)Tests")
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { product in
        let names = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
        return !kept.isSuperset(of: names)
    }
}
