import { z } from 'zod'

/**
 * The JSON Schema of what a person writes. zod leaves out the default of everything that is transformed, because it is a
 * default of the outcome; one that can be written just so is put back.
 */
export function writtenJsonSchema(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod
      if (def.type !== 'default' || jsonSchema.default !== undefined) return
      const read = z.safeParse(zodSchema, def.defaultValue)
      if (read.success && read.data === def.defaultValue) jsonSchema.default = def.defaultValue
    },
  })
}
