/** What can be done with a message, wherever on the page it stands. */
import { createContext, useContext } from 'react';

export interface MessageDeeds {
  /** Shows how the turn went, in the workbench. */
  inspect: (turn: string) => void;
  /** The address of a message, to be kept or sent to oneself. */
  linkTo: (message: string) => string;
  /** Sends the last question once more. */
  again: () => void;
}

const NOTHING: MessageDeeds = { inspect: () => undefined, linkTo: () => '', again: () => undefined };

const Deeds = createContext(NOTHING);
export const DeedsProvider = Deeds.Provider;
export const useDeeds = () => useContext(Deeds);
