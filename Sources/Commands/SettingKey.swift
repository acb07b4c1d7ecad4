/// Keys of the settings, which shard 0 keeps in its table `setting`. The values are written and read by the
/// types that are named here.
///
/// | key | value | written by |
/// |---|---|---|
/// | `pause.<QoS or *>.<destination or *>` | since when, RFC 3339 | `sluice pause` |
/// | `network.<destination>` | level, maximum rate and since when, JSON | `sluice network set` |
/// | `limit.<name>` | a rate limit, JSON: `RateLimit` | `sluice limit` |
/// | `clock.hold` | until when the wall clock is not trusted, JSON: `ClockHold` | coordinator |
/// | `clock.jumps` | the jumps of the wall clock, JSON: `ClockJumps` | coordinator |
/// | `tokens.<limit or destination>.<name>` | the tokens of a rate limit, JSON: `TokenBucketState` | coordinator |
/// | `webhook.<endpoint>` | how its receiver has answered, JSON: `WebhookEndpointSetting` | workers, `sluice webhook` |
/// | `type.<name>` | how producers read the payloads of a type, JSON: `PayloadRule` | workers of one's own |
/// | `worker.<seat>` | pid, concurrency, types, draining, JSON: `WorkerInfo` | worker |
/// | `link.<up or down>.<destination>` | what was measured of the link, JSON: `LinkReport` | coordinator |
/// | `token.<id>` | an access token of the door, JSON: `TokenRecord` | `sluice token`, door |
/// | `login.<digest>` | a login code of the door, JSON: `StoredLoginCodes` | `sluice login`, door |
/// | `session.<digest>` | the session of a browser with the door, JSON: `StoredSessions` | door |
/// | `door.cookie` | the end of the name of the door's cookie | door |
/// | `door.url` | where the door listens, or last listened | door |
/// | `door.ready` | when the door last tried whether it can commit, RFC 3339 | door |
/// | `link.watched` | when a coordinator last watched the links, Unix milliseconds | coordinator |
package enum SettingKey {
    package static let pausePrefix = "pause."
    package static let networkPrefix = "network."
    package static let limitPrefix = "limit."
    package static let tokensPrefix = "tokens."
    package static let clockHold = "clock.hold"
    package static let clockJumps = "clock.jumps"
    package static let webhookPrefix = "webhook."
    package static let accessTokenPrefix = "token."
    package static let workerPrefix = "worker."
    package static let linkPrefix = "link."
    package static let linkWatched = "link.watched"
    package static let loginPrefix = "login."
    package static let sessionPrefix = "session."
    package static let doorCookie = "door.cookie"
    package static let doorURL = "door.url"
    package static let doorReady = "door.ready"

    /// The key of a pause; nil stands for all.
    package static func pause(qos: QualityOfService?, destination: Destination?) -> String {
        "\(pausePrefix)\(qos?.name ?? "*").\(destination?.text ?? "*")"
    }

    package static func network(_ destination: Destination) -> String { "\(networkPrefix)\(destination.text)" }

    package static func limit(_ name: String) -> String { "\(limitPrefix)\(name)" }

    package static func tokens(ofLimit name: String) -> String { "\(tokensPrefix)limit.\(name)" }
    package static func tokens(of destination: Destination) -> String {
        "\(tokensPrefix)destination.\(destination.text)"
    }

    /// - Parameter id: the public id of the token.
    package static func accessToken(_ id: String) -> String { "\(accessTokenPrefix)\(id)" }

    /// - Parameter digest: of the session's id.
    package static func session(_ digest: String) -> String { "\(sessionPrefix)\(digest)" }

    package static func type(_ name: String) -> String { "type.\(name)" }

    package static func worker(seat: Int) -> String { "\(workerPrefix)\(seat)" }

    /// - Parameter name: of the link: the text of its destination.
    package static func link(_ direction: Direction, _ name: some StringProtocol) -> String {
        "\(linkPrefix)\(direction.rawValue).\(name)"
    }
}
