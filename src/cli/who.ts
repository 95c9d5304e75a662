import { userInfo } from 'node:os'

/** Who runs this, for the record of a rollout; null where the system has no name for the user. */
export function whoAmI(): string | null {
  const { SUDO_USER, USER } = process.env
  const named = SUDO_USER || USER
  if (named) return named
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that no file has a name for.
    return null
  }
}
