internal import Commands
internal import Console
package import FlowText
internal import Queue
internal import Transfers

/// Reads one route.
struct UploadRouteReader {
    private static let keys = [
        "command", "flow", "qos", "uniqueKey", "orderingKey", "retryLimit", "maxSize", "retention",
    ]
    private static let commandOptions = ["idempotent", "destination", "limit", "deadline", "notBefore"]

    private let member: LocatedValue.Member
    private var name: String { member.name }

    init(_ member: LocatedValue.Member) { self.member = member }

    /// - Throws: ``RouteError`` with the position.
    func route() throws(RouteError) -> UploadRoute {
        guard UploadRoute.isName(name) else {
            throw RouteError(
                position: member.position,
                problem: "“\(name.excerpt)” is not the name of a route: \(UploadRoute.nameForm)")
        }
        if member.value.value == .null { return UploadRoute(name: name, action: .none) }
        guard let members = member.value.members else {
            throw problem(
                member, "it must be a mapping, such as {} for uploads that stay, not \(member.value.value.kind)")
        }
        for key in members where !Self.keys.contains(key.name) {
            throw problem(
                key,
                "unknown key “\(key.name.excerpt)”\(NearestName.suggestion(for: key.name, among: Self.keys)); a route has "
                    + Self.keys.joined(separator: ", "))
        }
        func key(_ name: String) -> LocatedValue.Member? {
            members.first { $0.name == name && $0.value.value != .null }
        }
        var route = UploadRoute(name: name, action: try action(key("command"), key("flow")))
        if let qos = key("qos") { route.qos = try self.qos(qos) }
        if let limit = key("retryLimit") { route.retryLimit = try retryLimit(limit, route) }
        if let size = key("maxSize") { route.maxSize = try maxSize(size) }
        if let retention = key("retention") { route.retention = try self.retention(retention, route) }
        if let template = key("uniqueKey") { route.uniqueKey = try self.template(template, route) }
        if let template = key("orderingKey") { route.orderingKey = try self.template(template, route) }
        try refuseDoubled(members, route)
        return route
    }

    // MARK: Actions

    private func action(
        _ command: LocatedValue.Member?, _ flow: LocatedValue.Member?
    ) throws(RouteError) -> UploadRoute.Action {
        if command != nil, let flow {
            throw problem(flow, "it has “command” and “flow”; a flow may have one node, so one of them is enough")
        }
        if let command { return .command(try self.command(command)) }
        if let flow { return .flow(try self.flow(flow)) }
        return .none
    }

    private func command(_ member: LocatedValue.Member) throws(RouteError) -> RouteCommand {
        guard let members = member.value.members else {
            throw problem(
                member, "“command” must be a mapping with “type” and “payload”, not \(member.value.value.kind)")
        }
        var type: String?
        var payload: LocatedValue.Member?
        var options: [JSONValue.Member] = []
        for key in members {
            switch key.name {
            case "type": type = try string(key)
            case "payload": payload = key
            case _ where Self.commandOptions.contains(key.name):
                let option = JSONValue.Member(key.name, key.value.value)
                var ignored = SubmitOptions()
                do { try BulkField.read(option, into: &ignored) } catch { throw problem(key, "\(error)") }
                options.append(option)
            case "qos", "uniqueKey", "orderingKey", "retryLimit":
                throw problem(key, "“\(key.name)” is a key of the route; move it beside “command”")
            default:
                throw problem(
                    key,
                    "unknown key “\(key.name.excerpt)” in “command”; it has type, payload, "
                        + Self.commandOptions.joined(separator: ", "))
            }
        }
        guard let type else { throw problem(member, "“command” has no “type”, such as upload") }
        guard CommandDraft.isType(type) else {
            throw problem(member, "“type” is “\(type.excerpt)” and must be 1 to 64 of a-z, 0-9, “.” and “-”")
        }
        if type == CommandType.flow || type == CommandType.batch {
            throw problem(
                member, "“type” is “\(type)”; a flow is the key “flow” of the route, and a batch is not possible")
        }
        let value = payload?.value.value ?? .object([])
        guard value.members != nil || !RouteCommand.takesFile(type) else {
            throw problem(payload ?? member, "“payload” must be a mapping, not \(value.kind)")
        }
        do throws(RouteTemplateError) {
            return try RouteCommand(type: type, payload: value, options: options)
        } catch {
            throw located(error, payload ?? member)
        }
    }

    private func flow(_ member: LocatedValue.Member) throws(RouteError) -> RouteFlow {
        let document: FlowDocument
        do throws(FlowDocumentError) {
            document = try FlowDocument(parsing: member.value.value.bytes, file: nil)
        } catch {
            let sentence = FlowError(node: error.node, error.problem).description
            throw problem(position(ofNode: error.node, in: member) ?? member, sentence)
        }
        for option in document.options where option.name == "uniqueKey" || option.name == "orderingKey" {
            throw problem(member, "“\(option.name)” is a key of the route; move it beside “flow”")
        }
        do throws(RouteTemplateError) { return try RouteFlow(document) } catch {
            throw problem(member, error.problem)
        }
    }

    private func position(ofNode node: String?, in flow: LocatedValue.Member) -> LocatedValue.Member? {
        flow.value.members?.first { $0.name == "nodes" }?.value.members?.first { $0.name == node }
    }

    // MARK: Values

    private func qos(_ member: LocatedValue.Member) throws(RouteError) -> QualityOfService {
        let name = try string(member)
        guard let qos = QualityOfService(name: name) else {
            let known = QualityOfService.allCases.map(\.name).joined(separator: ", ")
            throw problem(member, "“qos” is “\(name.excerpt)” and must be one of \(known)")
        }
        return qos
    }

    private func retryLimit(_ member: LocatedValue.Member, _ route: UploadRoute) throws(RouteError) -> Int {
        guard case .command = route.action else {
            throw problem(member, "“retryLimit” is of a command; a flow has it in “defaults” or in its nodes")
        }
        guard let limit = member.value.value.integer, (0...Int64(SubmitOptions.maxRetryLimit)).contains(limit) else {
            throw problem(member, "“retryLimit” must be from 0 to \(SubmitOptions.maxRetryLimit)")
        }
        return Int(limit)
    }

    private func maxSize(_ member: LocatedValue.Member) throws(RouteError) -> Int64 {
        let size = member.value.value.integer ?? member.value.value.string.flatMap(ByteCount.bytes)
        guard let size, size > 0 else { throw problem(member, "“maxSize” must be a size such as 20GiB") }
        return size
    }

    private func retention(_ member: LocatedValue.Member, _ route: UploadRoute) throws(RouteError) -> Duration {
        guard route.becomesCommand else {
            throw problem(member, "“retention” counts from the success of a command, which this route does not have")
        }
        let text = member.value.value.integer.map { "\($0)" } ?? member.value.value.string
        guard let retention = text.flatMap({ Duration.parse($0) }) else {
            throw problem(member, "“retention” must be a time such as 0s, 12h or 7d")
        }
        return retention
    }

    private func template(
        _ member: LocatedValue.Member, _ route: UploadRoute
    ) throws(RouteError) -> RouteTemplate {
        guard route.becomesCommand else {
            throw problem(member, "“\(member.name)” is of a command or flow, which this route does not have")
        }
        let text = try string(member)
        let template: RouteTemplate
        do throws(RouteTemplateError) { template = try RouteTemplate(text) } catch {
            throw problem(member, "“\(member.name)”: \(error.problem)")
        }
        if let other = template.placeholders.first(where: { !$0.isKeyPart }) {
            throw problem(
                member,
                "“\(member.name)” has \(other.text), and a key has only facts that several uploads share and that are "
                    + "known at creation: {name}, {path}, {contentType}, {token} and {metadata.KEY}")
        }
        guard !text.isEmpty else { throw problem(member, "“\(member.name)” is empty") }
        return template
    }

    /// A flow may have its own quality of service.
    private func refuseDoubled(_ members: [LocatedValue.Member], _ route: UploadRoute) throws(RouteError) {
        guard route.qos != nil, case .flow(let flow) = route.action,
            flow.document.options.contains(where: { $0.name == "qos" }),
            let member = members.first(where: { $0.name == "qos" })
        else { return }
        throw problem(member, "the route and its flow have “qos”; remove one of them")
    }

    private func string(_ member: LocatedValue.Member) throws(RouteError) -> String {
        guard let text = member.value.value.string else {
            throw problem(member, "“\(member.name)” must be a string, not \(member.value.value.kind)")
        }
        return text
    }

    // MARK: Errors

    private func problem(_ member: LocatedValue.Member, _ sentence: String) -> RouteError {
        RouteError(position: member.position, problem: "route “\(name)”: \(sentence)")
    }

    /// - Parameter payload: the value below which the error has its place.
    private func located(_ error: RouteTemplateError, _ payload: LocatedValue.Member) -> RouteError {
        let value = (try? JSONPointer(error.pointer)).flatMap { payload.value.at($0) }
        let place = error.pointer.isEmpty ? "" : "“\(error.pointer.dropFirst().replacing("/", with: "."))”: "
        return RouteError(
            position: value?.position ?? payload.position, problem: "route “\(name)”: \(place)\(error.problem)")
    }
}

/// Why and where the routes of a configuration cannot be used.
package struct RouteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nil where it is not known.
    package var position: SourcePosition?
    /// A sentence without a full stop at its end, and without the position.
    package var problem: String

    package var description: String { position.map { "line \($0.line): \(problem)" } ?? problem }
}
