/** What a description may name: all members of classes, or those that some caller may see. */
import type { Class } from '../metadata/class.js'

export interface VisibleMembers {
  /** @param type a class of the application, or a body of its routes */
  shows(type: Class, member: string): boolean
  /** @returns undefined for a text that names a member which is not shown */
  textOf(type: Class, text: string | undefined): string | undefined
}

/** For documents without a caller. */
export const everyMember: VisibleMembers = Object.freeze({
  shows: () => true,
  textOf: (_type: Class, text: string | undefined) => text,
})
