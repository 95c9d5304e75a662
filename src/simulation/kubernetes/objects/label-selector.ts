import { badRequest } from './api-error.js'
import type { Labels } from './api-object.js'

/** As objects carry it. */
export interface LabelSelector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly Requirement[]
}

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** An empty selector matches everything. */
export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => holds(requirement, labels[requirement.key]))
  )
}

/**
 * A selector as a URL carries it: `app=web,tier in (a,b),!canary`. Throws `ApiError` when it cannot be understood.
 */
export function parseLabelSelector(text: string): (labels: Labels) => boolean {
  const requirements = splitOutsideParentheses(text).map(parseRequirement)
  return (labels) => requirements.every((one) => holds(one, labels[one.key]))
}

const KEY = '[A-Za-z0-9](?:[\\w./-]*[A-Za-z0-9])?'
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*([\\w.-]*)$`)
const MEMBERSHIP = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const PRESENCE = new RegExp(`^(!?)\\s*(${KEY})$`)

function parseRequirement(text: string): Requirement {
  const [, key = '', sign, value = ''] = EQUALITY.exec(text) ?? []
  if (sign !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] }
  const [, member = '', word, list = ''] = MEMBERSHIP.exec(text) ?? []
  if (word !== undefined) {
    const values = list.split(',').map((one) => one.trim())
    return { key: member, operator: word === 'in' ? 'In' : 'NotIn', values }
  }
  const [, negation, present] = PRESENCE.exec(text) ?? []
  if (present !== undefined) return { key: present, operator: negation === '!' ? 'DoesNotExist' : 'Exists' }
  throw badRequest(
    `unable to parse requirement: found '${text}', expected: a requirement of a label selector`,
  )
}

/** A requirement on one value; undefined where there is none under its key. */
export function holds(
  { operator, values = [] }: Omit<Requirement, 'key'>,
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return false
  }
}

function splitOutsideParentheses(text: string): string[] {
  if (text.trim() === '') return []
  return text.split(/,(?![^(]*\))/).map((part) => part.trim())
}
