extension OpenAPIDocument {
    static let relationPaths = """
          /flows:
            get:
              operationId: listFlows
              tags: [relations]
              summary: The flows that have not ended, the newest first
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/limit'}]
              responses:
                '200':
                  description: The flows
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [flows]
                        properties: {flows: {type: array, items: {$ref: '#/components/schemas/Command'}}}
                default: {$ref: '#/components/responses/Problem'}
            post:
              operationId: submitFlow
              tags: [relations]
              summary: Submit a flow
              description: The document of `sluice flow submit`, as JSON or YAML. Each node is checked as a command.
              security: [{token: [submit]}]
              parameters: [{$ref: '#/components/parameters/idempotencyKey'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [nodes]
                      properties:
                        name: {type: string}
                        nodes:
                          type: object
                          description: Commands by the names of their nodes, as in a file of `sluice flow submit`
                          additionalProperties: {type: object}
                    example: {name: pair, nodes: {a: {type: noop}, b: {type: noop, after: a}}}
              responses:
                '200': {$ref: '#/components/responses/Flow'}
                '201': {$ref: '#/components/responses/Flow'}
                default: {$ref: '#/components/responses/Problem'}
          /flows/{id}:
            get:
              operationId: showFlow
              tags: [relations]
              summary: A flow with a page of its nodes
              security: [{token: [read]}]
              parameters:
                - {$ref: '#/components/parameters/id'}
                - {$ref: '#/components/parameters/limit'}
                - {$ref: '#/components/parameters/cursor'}
              responses:
                '200':
                  description: The flow
                  headers: {Link: {$ref: '#/components/headers/Link'}}
                  content:
                    application/json:
                      schema:
                        allOf: [{$ref: '#/components/schemas/Command'}]
                        required: [name, nodeCount, open, failed, nodes, callbacks, next]
                        properties:
                          name: {type: [string, 'null']}
                          nodeCount: {type: integer}
                          open: {type: integer}
                          failed: {type: integer}
                          nodes: {type: array, items: {$ref: '#/components/schemas/Command'}}
                          callbacks: {type: array, items: {$ref: '#/components/schemas/Command'}}
                          next: {$ref: '#/components/schemas/Next'}
                default: {$ref: '#/components/responses/Problem'}
          /batches/{id}:
            get:
              operationId: showBatch
              tags: [relations]
              summary: A batch with the numbers of its members
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /schedules:
            get:
              operationId: listSchedules
              tags: [relations]
              summary: The schedules, by name
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /schedules/{name}:
            get:
              operationId: showSchedule
              tags: [relations]
              summary: A schedule with its next times
              security: [{token: [read]}]
              parameters:
                - {$ref: '#/components/parameters/name'}
                - {name: times, in: query, schema: {type: integer, minimum: 0, maximum: 1000}}
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: putSchedule
              tags: [control]
              summary: Make a schedule, or replace one
              description: The token needs the scope submit too, and may submit what the schedule submits.
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [cron]
                      additionalProperties: false
                      properties:
                        name: {type: string}
                        cron: {type: string}
                        zone: {type: string}
                        command: {type: object}
                        flow: {type: object}
                        missed: {type: string}
                        overlap: {type: string}
                        jitter: {type: string}
                        grace: {type: string}
                        paused: {type: boolean}
                    example: {cron: '30 2 * * *', zone: Europe/Berlin, command: {type: noop}}
              responses:
                '200': {$ref: '#/components/responses/Object'}
                '201': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: removeSchedule
              tags: [control]
              summary: Remove a schedule; the commands that it has submitted stay
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '204': {description: It is removed.}
                default: {$ref: '#/components/responses/Problem'}
          /schedules/{name}/pause:
            post:
              operationId: pauseSchedule
              tags: [control]
              summary: Let a schedule fire no more
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /schedules/{name}/resume:
            post:
              operationId: resumeSchedule
              tags: [control]
              summary: Let a paused schedule fire again
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /webhooks:
            get:
              operationId: listWebhooks
              tags: [system]
              summary: The endpoints of webhooks that have got a message, by name
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /webhooks/{name}/pause:
            post:
              operationId: pauseWebhook
              tags: [control]
              summary: Hold the messages to an endpoint back
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /webhooks/{name}/resume:
            post:
              operationId: resumeWebhook
              tags: [control]
              summary: Let the messages to a paused endpoint go on
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /webhooks/{name}/replay:
            post:
              operationId: replayWebhook
              tags: [control]
              summary: Send the messages again that an endpoint did not get since a time
              description: >-
                An action that retries the messages to the endpoint that were submitted since then, and before `until` where
                it is given, and have failed or were given up. They keep their `webhook-id`.
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [since]
                      additionalProperties: false
                      properties:
                        since: {type: string, format: date-time}
                        until: {type: string, format: date-time}
                    example: {since: '2026-03-01T12:00:00Z'}
              responses:
                '202':
                  description: The action runs
                  content: {application/json: {schema: {$ref: '#/components/schemas/Action'}}}
                default: {$ref: '#/components/responses/Problem'}
          /schedules/{name}/trigger:
            post:
              operationId: triggerSchedule
              tags: [control]
              summary: Submit now what a schedule submits
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '201':
                  description: The commands
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [ids]
                        properties: {ids: {type: array, items: {$ref: '#/components/schemas/ID'}}}
                default: {$ref: '#/components/responses/Problem'}
        """
}
