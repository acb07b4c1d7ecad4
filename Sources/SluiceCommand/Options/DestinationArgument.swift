internal import ArgumentParser
internal import Commands
internal import Transfers

/// `--destination`: an origin such as `https://host:443`, or any URL of it. A path in a `file:` URL means the
/// file system that holds it.
struct DestinationArgument: ExpressibleByArgument {
    let destination: Destination

    init?(argument: String) {
        guard let destination = Destination(url: argument) else {
            ArgumentForm.expect("a URL such as https://host:8443 or file:///srv/in")
            return nil
        }
        self.destination = destination
    }
}
