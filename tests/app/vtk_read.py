"""Reads a file with VTK's own reader of VTKHDF, as ParaView does: all frames of an array into found.npy,
the rest as JSON."""
import json
import sys

import numpy
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader

name, array = sys.argv[1:]
reader = vtkHDFReader()
reader.SetFileName(name)
reader.UpdateInformation()
times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
steps, frames = reader.GetNumberOfSteps(), []
for step in range(max(steps, 1)):
    reader.SetStep(step)
    reader.Update()
    image = reader.GetOutput()
    frames.append(vtk_to_numpy(image.GetPointData().GetArray(array)).copy())
numpy.save("found.npy", numpy.array(frames))
print(json.dumps({"dimensions": image.GetDimensions(), "origin": image.GetOrigin(), "spacing": image.GetSpacing(),
                  "steps": steps, "times": times}))
