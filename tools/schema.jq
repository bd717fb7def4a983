# What tables have (mkdocs schema), put into a schema that is otherwise written by hand ($rest).
. as $made
| ({
    description: "what found no place in the tables of a process, which are several times as long as any real program needs",
    type: "object",
    properties: $made.others,
    required: ($made.others | keys_unsorted),
    additionalProperties: false
  }) as $others
| ($made.counters + {others: $others}) as $counters
| ($made.identity + {
    environment: {
      description: "variables of its environment as it was started; no others are looked at",
      type: "object",
      properties: $made.environment,
      required: ($made.environment | keys_unsorted),
      additionalProperties: false
    }
  }) as $identity
| $rest[0]
| ."$defs".identity = {
    description: "who a process is, as /proc said when it was first seen; null: not known",
    type: ["object", "null"],
    properties: $identity,
    required: ($identity | keys_unsorted),
    additionalProperties: false
  }
| if ."$defs".holding then .
  else ."$defs".space.enum = $made.spaces end
| if ."$defs".holding then .
  elif .oneOf then
    .oneOf |= $made.calls + $made.records + .
    | ."$defs".process.properties += $counters
    | ."$defs".more.properties += ($counters | with_entries(.value = {"$ref": "#/$defs/process/properties/\(.key)"}))
  else
    ."$defs".rule.enum = $made.rules
    | ."$defs".object.enum = $made.objects
    | ."$defs".failure.properties.cause.enum = $made.oom_causes
    | ."$defs".failure.properties.outcome.enum = $made.oom_outcomes
    | ."$defs".failure.properties.would_have_fit.items.properties.if.enum = $made.oom_remedies
    | ."$defs".unknown.properties += $counters
    | ."$defs".unknown.required += ($counters | keys_unsorted)
  end
