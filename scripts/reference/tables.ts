import type { z } from 'zod'

type Schema = z.core.JSONSchema.BaseSchema

/** One object of a schema: its heading, the path a person writes to it, and the fields it has. */
interface Section {
  readonly heading: string
  readonly path: string
  readonly schema: Schema
}

/** A heading, a sentence and a table for the object that stands at `path`, and for each object inside it. */
export function tablesOf(schema: Schema, heading: string, path = ''): string {
  const sections = sectionsOf({ heading, path, schema })
  return sections.map((section) => [`## ${section.heading}`, ...contentOf(section)].join('\n\n')).join('\n\n')
}

/** The sentence and the table of one object; objects inside it are linked to. */
function contentOf({ schema, path }: Section): string[] {
  const required = new Set(schema.required ?? [])
  const rows = fieldsOf(schema).map(([name, field]) => {
    const meaning = [field.description, ...objectsIn(field, joined(path, name)).map(linkTo)]
    const unset = required.has(name) ? '**required**' : defaultOf(field)
    return [code(name), typeOf(field), unset, meaning.filter(Boolean).join('; ')]
  })
  const other = schema.properties === undefined ? null : heldUnderNames(schema)
  if (other !== null) rows.push(['any other', typeOf(other), '–', other.description ?? ''])
  const table = [['field', 'type', 'default', 'meaning'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
  return [...(schema.description === undefined ? [] : [asSentence(schema.description)]), table]
}

function sectionsOf(section: Section): Section[] {
  const inside = fieldsOf(section.schema).flatMap(([name, field]) =>
    objectsIn(field, joined(section.path, name)),
  )
  return [section, ...inside.flatMap(sectionsOf)]
}

/** The objects with fields that a value is or holds: itself, the choices of a union, the values of a map, the items of a list. */
function objectsIn(schema: Schema, path: string): Section[] {
  if (schema.properties !== undefined) return [{ heading: headingOf(path, schema), path, schema }]
  const value = heldUnderNames(schema)
  return [
    ...branchesOf(schema).flatMap((branch) => objectsIn(branch, path)),
    ...(value === null ? [] : objectsIn(value, `${path}.<name>`)),
    ...(schema.items === undefined ? [] : objectsIn(asSchema(schema.items), `${path}[]`)),
  ]
}

/** The choices of a union are told apart by the field that can only have one value. */
function headingOf(path: string, schema: Schema): string {
  const told = fieldsOf(schema).filter(
    ([name, field]) => typeof field.const === 'string' && schema.required?.includes(name),
  )
  return [code(path), ...told.map(([name, field]) => code(`${name}: ${field.const}`))].join(' with ')
}

/** What may be written, in words: `duration`, `integer, 1 to 200`, `list of text`. */
function typeOf(schema: Schema): string {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ')
  const branches = branchesOf(schema)
  if (branches.length > 0) return [...new Set(branches.map(typeOf))].join(' or ')
  const types: string[] = schema.type === undefined ? [] : [schema.type].flat()
  return types.length === 0 ? 'anything' : types.map((type) => typeNamed(type, schema)).join(' or ')
}

function typeNamed(type: string, schema: Schema): string {
  switch (type) {
    case 'string':
      return schema.format === 'uri' ? 'URL' : 'text'
    case 'boolean':
      return '`true`, `false`'
    case 'number':
    case 'integer':
      return [type, ...rangeOf(schema)].join(', ')
    case 'array':
      return `list of ${typeOf(asSchema(schema.items))}`
    case 'object':
      return schema.properties === undefined ? `names to ${typeOf(heldUnderNames(schema) ?? {})}` : 'object'
    default:
      return type
  }
}

/** Every integer has the largest one there is as its limit: nobody needs to read that. */
function rangeOf({ minimum, maximum }: Schema): string[] {
  const [least, most] = [minimum, maximum].map((limit) =>
    limit !== undefined && Math.abs(limit) < Number.MAX_SAFE_INTEGER ? limit : null,
  )
  if (least !== null && most !== null) return [`${least} to ${most}`]
  if (least !== null) return [`at least ${least}`]
  return most === null ? [] : [`at most ${most}`]
}

function defaultOf(schema: Schema): string {
  const { default: value, title } = schema
  // The default of an object is what its own fields have.
  if (value === undefined || (schema.properties !== undefined && JSON.stringify(value) === '{}')) return '–'
  return code(title === 'duration' && typeof value === 'number' ? sayDuration(value) : value)
}

function sayDuration(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}

function linkTo({ heading }: Section): string {
  return `see [${heading}](#${anchorOf(heading)})`
}

function fieldsOf(schema: Schema): [name: string, field: Schema][] {
  return Object.entries(schema.properties ?? {}).map(([name, field]) => [name, asSchema(field)])
}

function branchesOf(schema: Schema): Schema[] {
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].map(asSchema)
}

/** What is held under names that are not fixed; null where there are none. */
function heldUnderNames({ additionalProperties }: Schema): Schema | null {
  return typeof additionalProperties === 'object' ? asSchema(additionalProperties) : null
}

/** `true`, `false` and a missing schema say nothing. */
function asSchema(schema: unknown): Schema {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return {}
  if ('$ref' in schema) throw new Error('a schema that refers to itself cannot be written as tables')
  return schema as Schema
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}
