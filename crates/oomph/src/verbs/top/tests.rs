//! The screen, from scenes to text, and what keys do.

mod keys;
mod scenes;
mod screens;
