internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Membership
internal import Queue

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Make, move and copy stores.",
        discussion: """
            Without further options the store is in the files of the data directory. A store on a PostgreSQL server outlives \
            the machine that works on it, has the backups and standbys of its server, and takes commands from transactions in \
            SQL. One data directory works on it at a time.

            EXAMPLES
              sluice store create 'postgres://owner@db1/queue' --role app
              sluice store copy /var/lib/sluice 'postgres://owner@db1/queue'
              export SLUICE_STORE='postgres://app@db1,db2/queue?target_session_attrs=read-write'
              sluice up
            """,
        subcommands: [
            StoreCreateCommand.self, StoreGrantsCommand.self, StoreCopyCommand.self, StoreMoveHostCommand.self,
            StoreRestoredCommand.self,
        ])
}

/// The URL of a store as an argument.
struct StoreArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "postgres://USER@HOST/DATABASE, with ?schema=NAME for another schema than “sluice”. A password belongs in ~/.pgpass or PGPASSWORD.",
            valueName: "url"))
    var url: String

    func validate() throws { try DataOptions.refuse(store: url, named: "The URL") }
}

struct StoreCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make the tables of a store in a database that exists.",
        discussion: """
            The user of the URL owns the tables; it needs the right to create a schema in the database. A service works with a \
            role that can change rows and no tables: --role prints the SQL that gives it its rights and the settings of its \
            sessions, for psql. Exits with 65 where the schema exists.

            EXAMPLES
              createdb queue && sluice store create postgres:///queue
              sluice store create 'postgres://owner@db1/queue?sslmode=verify-full' --role app | psql -h db1 queue
              sluice store create 'postgres:///app?schema=jobs' --shards 16
            """)

    @OptionGroup var store: StoreArgument
    @OptionGroup var print: PrintOptions

    @Option(
        name: .long,
        help: ArgumentHelp("Shards: 1, 2, 4, … 256. They are never changed.", valueName: "n"))
    var shards = ServerStores.defaultShardCount

    @Option(name: .long, help: ArgumentHelp("Print the SQL with the rights of this role.", valueName: "name"))
    var role: String?

    func validate() throws {
        guard (1...256).contains(shards), shards & (shards - 1) == 0 else {
            throw ValidationError("--shards must be 1, 2, 4, … 256.")
        }
        if role?.isEmpty == true { throw ValidationError("--role must not be empty.") }
    }

    func run() throws {
        SignalHandling.exits()
        let created = try ServerStores.create(store.url, shardCount: shards)
        let grants = try role.map { try ServerStores.grants(store.url, to: $0) }
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("store", .string(created.name)), .init("schema", .string(created.schema)),
                    .init("shards", .integer(Int64(created.shardCount))),
                    .init("grants", grants.map { .string($0) } ?? .null),
                ]).bytes)
        } else {
            // Standard output is for psql.
            Diagnostics.say(
                "\(created.name) has a store now: schema \(created.schema), \(created.shardCount) shards")
            if let grants { Self.show(grants) }
        }
    }
}

extension StoreCreateCommand {
    /// Prints SQL, a statement a line.
    fileprivate static func show(_ grants: String) {
        for line in grants.split(separator: "\n") { Output.line(String(line)) }
    }
}

struct StoreGrantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants",
        abstract: "Print the SQL that lets a role work on a store.",
        discussion: """
            Connects to nothing.

            EXAMPLES
              sluice store grants postgres:///queue --role app | psql queue
              sluice store grants postgres:///queue --role shop --producer | psql queue
            """)

    @OptionGroup var store: StoreArgument

    @Option(name: .long, help: ArgumentHelp("The role of the service, or of the program.", valueName: "name"))
    var role: String

    @Flag(name: .long, help: "Only the right to submit by SQL: for a program that calls the function “submit”.")
    var producer = false

    func validate() throws { if role.isEmpty { throw ValidationError("--role must not be empty.") } }

    func run() throws {
        StoreCreateCommand.show(
            try producer
                ? ServerStores.producerGrants(store.url, to: role) : ServerStores.grants(store.url, to: role))
    }
}

struct StoreMoveHostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move-host",
        abstract: "Give the store to this data directory, after the machine of the earlier one is gone.",
        discussion: """
            A store on a server belongs to one data directory, whose files are the bytes of its uploads. Uploads that are open \
            end when the door of the new one starts, unless their files were copied into its spool. Commands that were \
            running are released; those that are not idempotent and may have been sent are in doubt. Exits with 75 while the \
            earlier machine shows signs of life.

            EXAMPLES
              SLUICE_STORE=postgres://app@db1/queue sluice store move-host --data /var/lib/sluice
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Flag(name: .long, help: "Also where the earlier machine was alive a moment ago. Both would execute commands.")
    var force = false

    func run() throws {
        SignalHandling.exits()
        let location = try data.location()
        let earlier = try ServerStores.moveHost(location, force: force)
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("store", .string(location.name)), .init("directory", .string(data.directory().resolved.path)),
                    .init("earlier", earlier.map { .string($0) } ?? .null),
                ]).bytes)
        } else {
            Output.line(
                "\(location.name) belongs to \(data.directory().resolved.path) now"
                    + (earlier.map { ", and no longer to \($0)" } ?? ""))
        }
    }
}

struct StoreRestoredCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restored",
        abstract: "Settle the store after its server was put back to an earlier moment.",
        discussion: """
            For a server that was restored from a backup or recovered to a point in time. Stop every part of sluice first, and \
            run this before the next start. The commands that workers had claimed at that moment are released; a command that is not \
            idempotent and may have been sent is in doubt. The door then keeps bytes in its spool that the store does not know. \
            Not needed after the promotion of a synchronous standby, which has lost nothing. Exits with 75 while a part of sluice \
            runs.

            EXAMPLES
              SLUICE_STORE=postgres://app@db1/queue sluice store restored --data /var/lib/sluice
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        SignalHandling.exits()
        let location = try data.location()
        let settled = try ServerStores.settleRestored(location)
        if print.json {
            return Output.line(JSONValue.object([.init("store", .string(location.name))] + settled.members).bytes)
        }
        Output.line("\(location.name) can be used")
        settled.showClaimed()
    }
}
