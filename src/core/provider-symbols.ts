/**
 * Methods that the framework calls on providers in addition to `onStart`, `onClosing` and `onStop`. They are symbols,
 * so that the framework never calls an application's method because of its name.
 */

/** A provider's `[resetState]()` clears its state. `desk.reset()` of `filigree/testing` calls it. */
export const resetState: unique symbol = Symbol.for('filigree.resetState')

/** A provider's `[pendingWork]()` lists the work that it has queued. The development page shows it. */
export const pendingWork: unique symbol = Symbol.for('filigree.pendingWork')
