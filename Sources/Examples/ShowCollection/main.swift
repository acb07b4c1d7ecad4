// Shows a remote list from its local copy, at once and without the network, and then each change of it.
//
//     sluice up &
//     show-collection ./sluice-data https://api.example.com/quotes quotes
//
// The sync is a durable command: it waits while the server cannot be reached, and the program shows the copy
// meanwhile.

import Glibc
import Sluice

/// Asks for the list. A second call joins a sync that has not ended.
func sync(_ url: String, into name: String, with client: SluiceClient) async throws -> CommandID {
    var options = SubmitOptions()
    options.uniqueKey = "sync-\(name)"
    options.uniqueFor = .running
    return try await client.submit(
        "sync", payload: ["url": .string(url), "collection": .string(name), "mode": "replace"], options: options)
}

/// Shows the records of a collection, and follows their changes until its task is cancelled.
func show(_ name: String, with client: SluiceClient) async throws {
    var list: [String: CollectionRecord] = [:]
    for try await update in client.collection(name).updates() {
        switch update {
        case .all(let snapshot):
            list = Dictionary(uniqueKeysWithValues: snapshot.records.map { ($0.key, $0) })
        case .changes(let changes):
            for record in changes.changed { list[record.key] = record }
            for key in changes.deleted { list[key] = nil }
        }
        print("revision \(update.revision): \(list.count) records")
        if case .changes(let changes) = update {
            for record in changes.changed { print("  \(record.body)") }
            for key in changes.deleted { print("  \(key) was deleted") }
        }
        fflush(nil)
    }
}

/// Marks a record as read. The mark is local until a sync brings the record again.
func markAsRead(_ key: String, in name: String, with client: SluiceClient) async throws {
    let collection = client.collection(name)
    guard let record = try await collection.record(key), var members = record.value.members else { return }
    members.removeAll { $0.name == "read" }
    members.append(.init("read", true))
    let result = try await collection.put([.object(members)])
    print("\(name) is at revision \(result.revision)")
}

let arguments = CommandLine.arguments
/// The URL of a store on a server; nil: the store is in the data directory.
let store = getenv("SLUICE_STORE").map { String(cString: $0) }
guard (4...5).contains(arguments.count) else {
    print("usage: show-collection DATA URL COLLECTION [KEY]")
    exit(64)
}
do {
    let (url, name) = (arguments[2], arguments[3])
    let client = try SluiceClient(data: arguments[1], store: store)
    if arguments.count == 5 { try await markAsRead(arguments[4], in: name, with: client) }
    let id = try await sync(url, into: name, with: client)
    print("submitted \(id)")
    fflush(nil)
    let outcome = Task {
        let outcome = try await client.wait(for: id)
        if !outcome.isSuccess { print("the sync is \(outcome.status): \(outcome.reason ?? "")") }
    }
    try await show(name, with: client)
    outcome.cancel()
    await client.close()
} catch {
    print("show-collection: \(error)")
    exit(1)
}
