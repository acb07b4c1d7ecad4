internal import Commands
internal import Door
internal import DoorLive
internal import HTTPTypes
internal import Host
internal import Queue
internal import Synchronization

/// A request for a page, with everything that its page needs.
struct Visit: Sendable {
    let request: DoorRequest
    let services: PageServices
    let url: PageURLs
    let now: Timestamp
    let live: LiveSnapshot

    init(_ request: DoorRequest, _ services: PageServices) {
        self.request = request
        self.services = services
        url = PageURLs(baseURL: request.baseURL)
        now = services.context.client.now
        live = services.live.snapshot
    }

    var principal: Principal? { request.principal }
    /// Whether the buttons of an operator are shown.
    var mayControl: Bool { principal?.scopes.contains(.control) ?? false }
    var mayRead: Bool { principal?.scopes.contains(.read) ?? false }
    var mayUpload: Bool { principal?.scopes.contains(.upload) ?? false }

    /// The notice that the last action has left.
    var notice: Notices.Notice? {
        guard let id = request.query["notice"], let token = principal?.token else { return nil }
        return services.notices.take(id, for: token)
    }

    /// The path and query of this page below the base path, for forms that return to it.
    var ownPath: String {
        let link = PageLink(path: request.path, query: request.query.items.filter { $0.name != "notice" })
        return PageURLs(baseURL: "")(link).text
    }

    /// - Parameter isLive: false for the answer to a form, which cannot be read again.
    func page(
        _ title: String, _ section: PageSection?, isLive: Bool = true, @HTMLBuilder content: () -> HTML
    ) -> Response {
        PageFields.page(PageFrame(self, title: title, section: section, isLive: isLive).html(content()))
    }

    /// Ends an action: the browser gets the page where it was, with a notice.
    /// - Parameter back: the page of the form; nil: `other`.
    func done(_ text: String, isProblem: Bool = false, back: String?, or other: PageLink = .overview) -> Response {
        let token = principal?.token ?? ""
        let id = services.notices.add(Notices.Notice(text: text, isProblem: isProblem), for: token)
        guard let back, let path = OwnPath(back) else {
            var link = other
            link.query.append(("notice", id))
            return PageFields.seeOther(url(link))
        }
        let separator = path.text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return PageFields.seeOther(url(OwnPath("\(path.text)\(separator)notice=\(id)") ?? path))
    }
}

extension PageLink {
    init(path: [String], query: [(name: String, value: String)]) {
        self.init()
        self.path = path
        self.query = query
    }
}

/// The services that pages use.
struct PageServices: Sendable {
    let context: DoorContext
    let live: LivePart
    let notices = Notices()

    /// Runs a reading of the queue, as ``QueueAccess/read(isUrgent:_:)``.
    /// - Throws: a problem where the store cannot.
    func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await context.client.read(isUrgent: isUrgent, body) } catch { throw Problem(error) }
    }

    /// Runs a verb of the queue, as ``QueueAccess/write(_:)``.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await context.client.write(body) } catch { throw Problem(error) }
    }
}

/// The messages that a page shows once after an action. The redirect carries only a number: no text of a request comes back
/// in a page.
final class Notices: Sendable {
    struct Notice: Sendable, Equatable {
        var text: String
        /// It reports a refusal.
        var isProblem = false
    }

    private struct Entry {
        var notice: Notice
        var token: String
        var made: MonotonicTime
    }

    private static let maxCount = 256
    private static let lifetime: Duration = .seconds(300)

    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameter token: of the principal that may read it.
    /// - Returns: the id of the notice.
    func add(_ notice: Notice, for token: String) -> String {
        let id = String(UInt64.random(in: .min ... .max), radix: 36)
        entries.withLock { entries in
            let now = MonotonicTime.now
            entries = entries.filter { now - $0.value.made < Self.lifetime }
            if entries.count >= Self.maxCount, let oldest = entries.min(by: { $0.value.made < $1.value.made }) {
                entries[oldest.key] = nil
            }
            entries[id] = Entry(notice: notice, token: token, made: now)
        }
        return id
    }

    /// The notice, which is then gone.
    func take(_ id: String, for token: String) -> Notice? {
        entries.withLock { entries in
            guard let entry = entries[id], entry.token == token else { return nil }
            entries[id] = nil
            return entry.notice
        }
    }
}
