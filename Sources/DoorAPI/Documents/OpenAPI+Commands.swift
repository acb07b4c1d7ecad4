extension OpenAPIDocument {
    static let commandPaths = """
          /commands:
            get:
              operationId: listCommands
              tags: [commands]
              summary: A page of commands, the newest first
              description: >-
                A page may be empty although others follow: the search has used its time. The order is that of the
                submits, so that a command that is submitted later never comes before the cursor of an older page.
              security: [{token: [read]}]
              parameters:
                - name: status
                  in: query
                  description: Several times, or with commas, for several
                  explode: true
                  schema: {type: array, items: {$ref: '#/components/schemas/Status'}}
                - {name: qos, in: query, schema: {$ref: '#/components/schemas/QualityOfService'}}
                - {name: destination, in: query, description: An origin, schema: {$ref: '#/components/schemas/Filter'}}
                - {name: type, in: query, schema: {$ref: '#/components/schemas/CommandType'}}
                - {name: batch, in: query, schema: {$ref: '#/components/schemas/ID'}}
                - {name: reason, in: query, description: Text in the reason, schema: {$ref: '#/components/schemas/Filter'}}
                - {name: q, in: query, description: Text in a path or URL, schema: {$ref: '#/components/schemas/Filter'}}
                - {name: from, in: query, schema: {type: string, format: date-time}}
                - {name: before, in: query, schema: {type: string, format: date-time}}
                - {name: order, in: query, schema: {enum: [new, old]}}
                - {$ref: '#/components/parameters/limit'}
                - {$ref: '#/components/parameters/cursor'}
              responses:
                '200':
                  description: A page
                  headers: {Link: {$ref: '#/components/headers/Link'}}
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [commands, next]
                        properties:
                          commands: {type: array, items: {$ref: '#/components/schemas/Command'}}
                          next: {$ref: '#/components/schemas/Next'}
                default: {$ref: '#/components/responses/Problem'}
            post:
              operationId: submitCommand
              tags: [commands]
              summary: Submit a command
              description: >-
                Types, destinations and files are limited by door.submit of sluice.yaml and by the token. A command that
                holds the same unique key, or came with the same Idempotency-Key, is returned with 200. The payload of a
                request, a webhook or an upload gets `confined`, by which its worker checks addresses and files when it runs.
              security: [{token: [submit]}]
              parameters: [{$ref: '#/components/parameters/idempotencyKey'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/NewCommand'}
                    example: {type: noop, payload: {milliseconds: 10}, qos: background}
              responses:
                '200':
                  description: The command existed
                  content: {application/json: {schema: {$ref: '#/components/schemas/CommandDetails'}}}
                '201':
                  description: The command is durable
                  content: {application/json: {schema: {$ref: '#/components/schemas/CommandDetails'}}}
                default: {$ref: '#/components/responses/Problem'}
          /commands/bulk:
            post:
              operationId: submitCommands
              tags: [commands, lines]
              summary: Submit a command a line
              description: >-
                At most 10,000 lines and 16 MiB; 503 while the bodies of other requests take the memory of the server. Each
                line is accepted or refused by itself, and has a line of the
                response, in order. With an Idempotency-Key a repeated bulk finds the commands of the first one.
              security: [{token: [submit]}]
              parameters: [{$ref: '#/components/parameters/idempotencyKey'}]
              requestBody:
                required: true
                content:
                  application/x-ndjson: {schema: {type: string}}
              responses:
                '200':
                  description: A line for each line
                  content:
                    application/x-ndjson: {schema: {type: string}}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}:
            get:
              operationId: showCommand
              tags: [commands, waits]
              summary: A command with its payload, result and timeline
              description: >-
                Secrets of payload and result are left out. With `wait`, the response comes at the end of the command; with
                `wait` and If-None-Match at its next change; and after that time in any case.
              security: [{token: [read]}]
              parameters:
                - {$ref: '#/components/parameters/id'}
                - {name: wait, in: query, description: 'Seconds, at most 30', schema: {type: integer, minimum: 0}}
                - {name: Prefer, in: header, description: '`wait=10`', schema: {type: string}}
                - {name: If-None-Match, in: header, schema: {type: string}}
              responses:
                '200':
                  description: The command
                  headers: {ETag: {$ref: '#/components/headers/ETag'}}
                  content: {application/json: {schema: {$ref: '#/components/schemas/CommandDetails'}}}
                '304': {description: As If-None-Match names it}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/timeline:
            get:
              operationId: showTimeline
              tags: [commands]
              summary: The transitions of a command
              description: >-
                The newest ones, in a page the oldest first; each next page has earlier ones.
              security: [{token: [read]}]
              parameters:
                - {$ref: '#/components/parameters/id'}
                - {$ref: '#/components/parameters/limit'}
                - {$ref: '#/components/parameters/cursor'}
              responses:
                '200':
                  description: The timeline
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [timeline, next]
                        properties:
                          next: {type: [string, 'null']}
                          timeline: {type: array, items: {$ref: '#/components/schemas/Transition'}}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/explain:
            get:
              operationId: explainCommand
              tags: [commands]
              summary: Why a command waits
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '200':
                  description: The gates, the nearest first
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [id, status, gates, sentences]
                        properties:
                          id: {$ref: '#/components/schemas/ID'}
                          status: {$ref: '#/components/schemas/Status'}
                          gates: {type: array, items: {type: object}}
                          sentences: {type: array, items: {type: string}}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/result:
            get:
              operationId: showResult
              tags: [commands]
              summary: The result of a command
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '200':
                  description: Any JSON, as its operation returned it
                  content: {application/json: {schema: {}}}
                default: {$ref: '#/components/responses/Problem'}
        """
}
