/**
 * Methods that the framework calls on providers beside `onStart`, `onClosing` and `onStop`. They are symbols, so that no method
 * of an application is called because of its name.
 */

/** `[resetState]()` of a provider forgets what it has stored: `desk.reset()` of `filigree/testing` calls it. */
export const resetState: unique symbol = Symbol.for('filigree.resetState')

/** `[pendingWork]()` of a provider lists the work that it stores for later: the development page shows it. */
export const pendingWork: unique symbol = Symbol.for('filigree.pendingWork')
