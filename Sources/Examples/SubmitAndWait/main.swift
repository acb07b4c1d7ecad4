// Submits an upload, prints its progress, and waits for its end.
//
//     sluice up &
//     submit-and-wait ./sluice-data /var/log/syslog https://media.example.com/in/
//
// The command is on disk before its id is printed. Kill this program, or the machine: the upload continues.

import Glibc
import Sluice

/// Submits one file and returns when it has arrived, or has failed.
func upload(_ file: String, to url: String, with client: SluiceClient) async throws -> CommandOutcome {
    var options = SubmitOptions()
    options.qos = .userInitiated
    options.deadline = .now + .seconds(24 * 3600)
    let events = try client.events(prefix: "progress/")
    let id = try await client.submit(
        "upload", payload: ["file": .string(file), "to": .string(url)], options: options)
    print("submitted \(id)")
    let progress = Task {
        for await event in events where event.id == id {
            print("\(event.body["offset"]?.integer ?? 0) of \(event.body["total"]?.integer ?? 0) bytes")
        }
    }
    let outcome = try await client.wait(for: id)
    progress.cancel()
    return outcome
}

/// Submits many commands in one transaction, and prints those that were refused.
func submitMany(_ files: [String], to url: String, with client: SluiceClient) async throws -> [CommandID] {
    let drafts = try files.map { file in
        try client.draft("upload", payload: ["file": .string(file), "to": .string(url)])
    }
    var ids: [CommandID] = []
    for (file, result) in zip(files, await client.submit(bulk: drafts)) {
        switch result {
        case .success(let id): ids.append(id)
        case .failure(let error): print("\(file): \(error)")
        }
    }
    return ids
}

/// Prints why a command has not ended yet: its status, and its transitions so far.
func describe(_ id: CommandID, with client: SluiceClient) async throws {
    guard let command = try await client.command(id) else { return print("there is no command \(id)") }
    print("\(command.status), \(command.retries) of \(command.retryLimit) retries, \(command.reason ?? "no reason")")
    for transition in try await client.timeline(id) { print("\(transition.at) \(transition.status)") }
}

/// Prints the commands that were given up or are in doubt, from a position on. Returns when the task is cancelled, with
/// the position to go on at.
func followFailures(since start: TransitionPosition, with client: SluiceClient) async throws -> TransitionPosition {
    var position = start
    let filter = TransitionFilter(statuses: [.tooManyTimes, .inDoubt])
    for try await event in try client.events(since: position, matching: filter) {
        switch event.change {
        case .transition(let change): print("\(change.transition.id): \(change.transition.reason ?? "no reason")")
        case .gap(let gap): print("\(gap.numbers.count) transitions were pruned")
        }
        position = event.position
    }
    return position
}

let arguments = CommandLine.arguments
/// The URL of a store on a server; nil: the store is in the data directory.
let store = getenv("SLUICE_STORE").map { String(cString: $0) }
guard arguments.count >= 4 else {
    print("usage: submit-and-wait DATA FILE… URL")
    exit(64)
}
do {
    let (data, files, url) = (arguments[1], Array(arguments[2..<arguments.count - 1]), arguments[arguments.count - 1])
    let client = try SluiceClient(data: data, store: store)
    let outcome = try await upload(files[0], to: url, with: client)
    print("\(outcome.id) is \(outcome.status)\(outcome.reason.map { ": \($0)" } ?? "")")
    guard outcome.isSuccess else { exit(1) }
    for id in try await submitMany(Array(files.dropFirst()), to: url, with: client) {
        try await describe(id, with: client)
    }
    await client.close()
} catch {
    print("submit-and-wait: \(error)")
    exit(1)
}
