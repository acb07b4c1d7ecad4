internal import Commands
internal import Console
internal import Coordination
internal import NetworkControl
internal import Store

/// What the store tells of links: how the coordinator left them, and what a person set.
extension Instance {
    /// What people set, by destination.
    func overrides() throws(StoreError) -> [Destination: LinkOverrideSetting] {
        LinkOverrideSetting.parse(try store.settingsIfUsable(prefix: SettingKey.networkPrefix))
    }

    /// As the last coordinator left them.
    func storedLinks() throws(StoreError) -> StoredLinks {
        StoredLinks(settings: try store.settingsIfUsable(prefix: SettingKey.linkPrefix))
    }
}
